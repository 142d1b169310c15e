from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
import yaml

from claims.models import EventKind, OrderEvent
from tests.builders import NOON, a_claim, a_class
from tests.catalog.test_views_lists import fill
from tests.exports import file_of, table
from tests.fixtures.rest import Mirrored, Rest

As = Callable[..., Rest]
HOLDS = "/tenants/tenant-acme/gpus/"


def test_holds_leave_as_csv_with_the_filter_of_the_page(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        a_class(display_name="=1+1"),
        *(a_claim(f"c-{index:03}", gpus=2) for index in range(120)),
        a_claim("other"),
    )

    rows = table(file_of(rest("bob"), HOLDS, q="c-", export="csv"))

    assert len(rows) == 120
    assert (rows[0]["hold"], rows[0]["gpus"], rows[0]["state"]) == ("c-000", "2", "Waiting")
    assert rows[0]["offer"] == "'=1+1"


@pytest.mark.parametrize("form", ["csv", "yaml", "x"])
def test_a_tenants_file_names_no_node_and_the_hosters_does(rest: As, mirrored: Mirrored, form: str) -> None:
    mirrored(a_class(), a_claim(node="secret-node"), a_claim("theirs", namespace="tenant-globex", node="n2"))

    mine = file_of(rest("alice"), HOLDS, export=form)
    all_of_them = file_of(rest("hoster"), "/hoster/holds/", export=form)

    assert "secret-node" not in mine
    assert "theirs" not in mine
    assert "secret-node" in all_of_them
    assert "theirs" in all_of_them


def test_yaml_is_what_kubectl_reads(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class(), a_claim("a", gpus=2), a_claim("b"))

    documents = list(yaml.safe_load_all(file_of(rest("alice"), HOLDS, export="yaml")))

    assert [(one["kind"], one["metadata"]["name"], one["spec"].get("count", 1)) for one in documents] == [
        ("GPUClaim", "a", 2),
        ("GPUClaim", "b", 1),
    ]


def test_history_leaves_as_csv(rest: As, mirrored: Mirrored) -> None:
    OrderEvent.objects.create(
        at=NOON,
        kind=EventKind.ORDERED,
        namespace="tenant-acme",
        claim_name="one",
        class_name="l40s",
        count=2,
        username="alice",
    )

    rows = table(file_of(rest("bob"), "/tenants/tenant-acme/history/", export="csv"))

    assert [(row["when"], row["what"], row["who"]) for row in rows] == [
        ("2026-11-05T12:00:00+00:00", "Ordered", "alice")
    ]


def test_history_leaves_as_yaml_and_sorted_as_the_page(rest: As, mirrored: Mirrored) -> None:
    for name, kind in (("b", EventKind.ORDERED), ("a", EventKind.ORDERED), ("a", EventKind.RELEASED)):
        OrderEvent.objects.create(
            at=NOON, kind=kind, namespace="tenant-acme", claim_name=name, class_name="l40s", count=2
        )

    text = file_of(
        rest("bob"), "/tenants/tenant-acme/history/", export="yaml", kind="ordered", sort="claim_name"
    )

    assert [(one["what"], one["hold"], one["gpus"]) for one in yaml.safe_load_all(text)] == [
        ("Ordered", "a", 2),
        ("Ordered", "b", 2),
    ]


def test_holds_leave_in_the_order_of_the_page(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class(), a_claim("a", gpus=1), a_claim("b", gpus=3), a_claim("c", gpus=2))

    rows = table(file_of(rest("alice"), HOLDS, sort="-count", export="csv"))

    assert [row["hold"] for row in rows] == ["b", "c", "a"]


def test_a_stranger_gets_no_file(rest: As, mirrored: Mirrored) -> None:
    for path in (HOLDS, "/tenants/tenant-acme/history/"):
        assert rest("charlie").client.get(path, {"export": "csv"}).status_code == 404
    assert rest("alice").client.get("/hoster/holds/", {"export": "csv"}).status_code == 404


def test_a_file_goes_on_to_the_last_event_however_many_there_are(rest: As, mirrored: Mirrored) -> None:
    OrderEvent.objects.bulk_create(
        OrderEvent(
            at=NOON + timedelta(seconds=number // 3),
            kind=EventKind.ORDERED,
            namespace="tenant-acme",
            claim_name=f"c-{number}",
            class_name="l40s",
            count=1,
        )
        for number in range(10_001)
    )

    rows = table(file_of(rest("bob"), "/tenants/tenant-acme/history/", export="csv"))

    assert [row["hold"] for row in rows] == [f"c-{number}" for number in reversed(range(10_001))]


@pytest.mark.parametrize("sort", ["name", "-count", "phase", "since", "-since"])
@pytest.mark.parametrize("form", ["csv", "yaml"])
def test_every_hold_is_in_the_file_once_whatever_it_is_sorted_by(
    rest: As, mirrored: Mirrored, sort: str, form: str
) -> None:
    fill(1203)

    text = file_of(rest("bob"), HOLDS, sort=sort, export=form)

    names = (
        [row["hold"] for row in table(text)]
        if form == "csv"
        else re.findall(r"^  name: (x-\d+)$", text, re.MULTILINE)
    )
    assert len(names) == 1203
    assert len(set(names)) == 1203
