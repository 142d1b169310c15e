"""What the mirror process writes: records, stock and freshness, from hand-made events."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gpu.ledger import Ledger
from kube.errors import Unavailable
from kube.kinds import GPU_CLAIMS, AnyKind
from kube.watching import Event, EventType
from portal import nudges
from portal.freshness import freshness
from portal.mirror import feeds, full_sync, stock
from portal.mirror.batches import BatchWriter
from portal.models import ClaimRecord, ClassStock, FeedState, NodeStock
from tests.builders import L40S, a_claim, a_class, a_launcher, a_namespace, a_node, a_pod, a_quota
from tests.portal.mirrored import all_listed, at_version, show, told

pytestmark = pytest.mark.django_db

NOW = timezone.now()
LATER = NOW + timedelta(seconds=7)
ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED
LISTED: tuple[AnyKind, Event[Any]] = (GPU_CLAIMS, Event(EventType.LISTED, resource_version="9"))
ALIVE: tuple[AnyKind, Event[Any]] = (GPU_CLAIMS, Event(EventType.ALIVE, resource_version="9"))
LOST: tuple[AnyKind, Event[Any]] = (
    GPU_CLAIMS,
    Event(EventType.DISCONNECTED, error=Unavailable("no answer")),
)


def a_writer(*events: tuple[AnyKind, Event[Any]]) -> BatchWriter:
    writer = BatchWriter(started_at=NOW)
    writer.write([*events, *all_listed()], at=NOW)
    return writer


def world() -> list[tuple[AnyKind, Event[Any]]]:
    objects = [
        a_class(),
        a_node("n1", gpus=8),
        a_node("n2", gpus=4, cordoned=True),
        a_claim("one", gpus=2, node="n1"),
        a_claim("two", gpus=1, node="n1", attached_to="vm"),
        a_launcher("vm", claims=["two"]),
        a_pod("foreign", gpus=1, node="n1"),
    ]
    return [told(ADDED, at_version(obj, number + 1)) for number, obj in enumerate(objects)]


def feed() -> FeedState:
    return FeedState.objects.get(kind="gpuclaims")


def cells() -> dict[str, tuple[int, ...]]:
    names = ("allocatable", "held", "in_use", "foreign", "free")
    return {row.node: tuple(getattr(row, name) for name in names) for row in NodeStock.objects.all()}


def test_the_stock_is_what_the_ledger_says() -> None:
    a_writer(*world())

    assert cells() == {"n1": (8, 3, 1, 1, 4), "n2": (4, 0, 0, 0, 4)}
    totals = ClassStock.objects.get(class_name="l40s")
    assert (totals.held, totals.in_use, totals.foreign, totals.free) == (3, 1, 1, 4)


def test_nothing_is_counted_before_the_picture_is_complete() -> None:
    writer = BatchWriter(started_at=NOW)

    writer.write(world(), at=NOW)
    assert not NodeStock.objects.exists()

    writer.write(all_listed(), at=NOW)
    assert NodeStock.objects.count() == 2


def test_an_event_changes_only_the_rows_it_is_about() -> None:
    writer = a_writer(*world())
    claim = at_version(a_claim("three", gpus=2, node="n1"), 50)

    with CaptureQueriesContext(connection) as queries:
        writer.write([told(ADDED, claim)], at=NOW)

    assert cells() == {"n1": (8, 5, 1, 1, 2), "n2": (4, 0, 0, 0, 4)}
    assert len(queries) <= 16


def test_a_repeated_event_writes_nothing() -> None:
    writer = a_writer(*world())

    with CaptureQueriesContext(connection) as queries:
        writer.write(world(), at=NOW)

    assert not [q["sql"] for q in queries if q["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]


def test_several_states_of_one_object_in_one_batch_end_with_the_last() -> None:
    writer = a_writer(*world())
    first, second = (
        at_version(a_claim("x", node="n1"), 60),
        at_version(a_claim("x", node="n1", attached_to="vm"), 61),
    )

    writer.write([told(ADDED, first), told(MODIFIED, second)], at=NOW)
    assert ClaimRecord.objects.get(name="x").phase == "In use"

    writer.write([told(DELETED, second), told(ADDED, at_version(a_claim("x", uid="new"), 70))], at=NOW)
    assert ClaimRecord.objects.get(name="x").uid == "new"


def test_what_went_while_no_mirror_ran_is_removed_with_the_first_picture() -> None:
    show(a_claim("gone-meanwhile", node="n1"), at=NOW - timedelta(hours=1))
    NodeStock.objects.create(
        node="dead",
        resource=L40S,
        capacity=8,
        allocatable=8,
        held=1,
        in_use=0,
        foreign=0,
        free=7,
        over_committed=0,
    )

    a_writer(*world())

    assert not ClaimRecord.objects.filter(name="gone-meanwhile").exists()
    assert "dead" not in cells()


def test_a_removed_class_and_node_leave_no_stock_behind() -> None:
    writer = a_writer(*world())

    writer.write([told(DELETED, a_class()), told(DELETED, a_node("n2"))], at=NOW)

    assert not ClassStock.objects.exists()
    assert set(cells()) == {"n1"}


def test_a_batch_the_database_refused_is_written_whole_the_next_time() -> None:
    writer = a_writer(*world())
    batch = [told(ADDED, at_version(a_claim("three", gpus=2, node="n1"), 50))]

    def fail(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "portal_nodestock" in sql:
            raise DatabaseError("gone away")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail), pytest.raises(DatabaseError):
        writer.write(batch, at=LATER)
    assert not ClaimRecord.objects.filter(name="three").exists()

    writer.write(batch, at=LATER)
    assert ClaimRecord.objects.filter(name="three").exists()
    assert feed().synced_at == LATER
    assert cells()["n1"] == (8, 5, 1, 1, 2)


def test_a_lost_watch_is_not_live_until_it_has_listed_again() -> None:
    writer = a_writer()
    assert freshness(now=NOW).is_live

    writer.write([LOST], at=NOW)
    assert not freshness(now=NOW).is_live
    assert freshness("gpuclasses", now=NOW).is_live

    writer.write([LISTED], at=NOW)
    assert freshness(now=NOW).is_live


def test_a_loss_in_the_middle_of_a_batch_is_noted() -> None:
    writer = a_writer()

    writer.write([ALIVE, LOST, told(MODIFIED, at_version(a_claim("first-page"), 50))], at=LATER)

    assert not freshness(now=LATER).is_live
    assert feed().synced_at == NOW


def test_a_loss_that_a_list_made_good_in_the_same_batch_begins_a_new_life() -> None:
    writer = a_writer()

    writer.write([LOST, LISTED], at=LATER)

    assert (feed().live_since, feed().synced_at) == (LATER, LATER)


def test_the_first_pages_of_a_list_after_a_loss_prove_nothing() -> None:
    writer = a_writer()
    writer.write([LOST], at=NOW)

    writer.write([told(MODIFIED, at_version(a_claim("first-page"), 50))], at=LATER)
    assert (feed().live_since, feed().synced_at) == (None, NOW)

    writer.write([LISTED, LOST], at=LATER)
    assert (feed().live_since, feed().synced_at) == (None, NOW)


def test_a_watch_that_was_taken_for_dead_is_live_again_with_its_next_word() -> None:
    writer = a_writer()
    feeds.lost(["gpuclaims"])

    writer.write([ALIVE], at=LATER)

    assert (feed().live_since, feed().synced_at) == (LATER, LATER)


def test_a_word_from_the_server_keeps_the_feed_fresh_at_most_once_a_second() -> None:
    writer = a_writer()

    writer.write([ALIVE], at=NOW + timedelta(milliseconds=300))
    assert feed().synced_at == NOW

    writer.write([ALIVE], at=LATER)
    assert (feed().synced_at, feed().live_since) == (LATER, NOW)


def test_an_object_that_cannot_be_read_changes_nothing() -> None:
    writer = a_writer(*world())
    odd: Event[Any] = Event(EventType.UNREADABLE, None, b"{}", "80", "tenant-acme", "one", "u")

    writer.write([(GPU_CLAIMS, odd)], at=NOW)

    assert ClaimRecord.objects.filter(name="one").exists()


def test_a_list_anew_repairs_stock_that_went_wrong_in_the_database() -> None:
    writer = a_writer(*world())
    kept = cells()
    NodeStock.objects.filter(node="n1").update(held=99)
    NodeStock.objects.filter(node="n2").delete()
    ClassStock.objects.update(free=99)

    writer.write([LISTED], at=LATER)

    assert cells() == kept
    assert ClassStock.objects.get().free == 4


def test_a_mirror_that_lives_again_while_the_rows_are_counted_keeps_its_own_stock() -> None:
    a_writer(*world())
    NodeStock.objects.update(held=5)

    def revive(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "portal_podrecord" in sql:
            feeds.pulse("mirror", at=NOW)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(revive):
        assert not full_sync.count_stock(now=NOW)

    assert set(NodeStock.objects.values_list("held", flat=True)) == {5}
    assert not full_sync.count_stock(now=NOW)
    assert full_sync.count_stock(now=NOW + timedelta(hours=1))
    assert cells()["n1"] == (8, 3, 1, 1, 4)


def test_counting_the_rows_anew_gives_the_same_stock() -> None:
    a_writer(*world())
    kept = cells()
    NodeStock.objects.all().delete()
    ClassStock.objects.update(free=99)

    stock.recount()

    assert cells() == kept
    assert ClassStock.objects.get().free == 4
    assert Ledger().cells() == {}


def test_whoever_shares_a_budget_hears_of_its_change(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(nudges, "connection", lambda: Wire(sent))
    tenants = [
        a_namespace("tenant-acme"),
        a_namespace("tenant-acme-lab", ancestors=["tenant-acme"]),
        a_namespace("tenant-globex"),
        a_quota({"gpu.cozystack.io/total": 9}),
    ]
    writer = a_writer(*world(), *(told(ADDED, at_version(obj, 20 + n)) for n, obj in enumerate(tenants)))
    claim = at_version(a_claim("three", gpus=1, namespace="tenant-acme-lab", node="n1"), 50)

    with django_capture_on_commit_callbacks(execute=True):
        writer.write([told(ADDED, claim)], at=NOW)

    assert [ns for kind, ns in sent if kind == "budgets"] == ["tenant-acme", "tenant-acme-lab"]


class Wire:
    """The end of the wire to Redis that we hold."""

    def __init__(self, sent: list[tuple[str, str]]) -> None:
        self._sent = sent

    def publish(self, channel: str, line: str) -> None:
        kind, namespace, _ = line.split(" ")
        self._sent.append((kind, namespace))
