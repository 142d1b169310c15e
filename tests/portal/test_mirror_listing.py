"""A whole list into the mirror: repaired, and never older over newer."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kube.answers import Listing, UnreadableItem
from kube.kinds import GPU_CLAIMS
from portal import mirror
from portal.models import ClaimRecord, FeedState, Tombstone
from tests.builders import ACME, a_claim
from tests.portal.mirrored import at_version, listing, raw, show

pytestmark = pytest.mark.django_db

NOW = timezone.now()
BEFORE = NOW - timedelta(seconds=10)
AFTER = NOW + timedelta(seconds=10)


def test_a_list_adds_repairs_and_removes() -> None:
    show(at_version(a_claim("stale"), 5), at_version(a_claim("gone"), 5), at=BEFORE)

    replaced = mirror.replace_all(
        GPU_CLAIMS,
        listing(GPU_CLAIMS, at_version(a_claim("stale", node="n1"), 7), at_version(a_claim("new"), 8)),
        list_started=NOW,
    )

    assert (replaced.written, replaced.removed) == (2, 1)
    assert dict(ClaimRecord.objects.values_list("name", "node_name")) == {"stale": "n1", "new": ""}
    assert FeedState.objects.get(kind="gpuclaims").synced_at == NOW


def test_a_row_written_after_the_list_started_is_left_alone() -> None:
    show(at_version(a_claim("bound", node="n1"), 9), at=AFTER)

    mirror.replace_all(GPU_CLAIMS, listing(GPU_CLAIMS, at_version(a_claim("bound"), 5)), list_started=NOW)

    assert ClaimRecord.objects.get().node_name == "n1"


def test_a_row_the_list_is_too_old_to_know_is_kept() -> None:
    show(at_version(a_claim("just-ordered"), 9), at=AFTER)

    replaced = mirror.replace_all(GPU_CLAIMS, listing(GPU_CLAIMS), list_started=NOW)

    assert replaced.removed == 0
    assert ClaimRecord.objects.count() == 1


def test_a_newer_version_is_taken_whenever_the_row_was_written() -> None:
    show(at_version(a_claim("one"), 5), at=AFTER)

    mirror.replace_all(
        GPU_CLAIMS, listing(GPU_CLAIMS, at_version(a_claim("one", node="n1"), 9)), list_started=NOW
    )

    assert ClaimRecord.objects.get().node_name == "n1"


def test_a_cluster_restored_from_a_backup_wins_over_rows_of_its_future() -> None:
    show(at_version(a_claim("one", node="n1"), 900), at=BEFORE)

    mirror.replace_all(GPU_CLAIMS, listing(GPU_CLAIMS, at_version(a_claim("one"), 5)), list_started=NOW)

    assert ClaimRecord.objects.get().node_name == ""


def test_what_was_deleted_while_the_list_was_read_does_not_come_back() -> None:
    claim = at_version(a_claim("one"), 5)
    show(claim, at=BEFORE)
    mirror.delete(GPU_CLAIMS, ACME, "one", uid=claim.metadata.uid, at=AFTER)

    mirror.replace_all(GPU_CLAIMS, listing(GPU_CLAIMS, claim), list_started=NOW)

    assert not ClaimRecord.objects.exists()
    assert Tombstone.objects.count() == 1


def test_an_object_that_cannot_be_read_is_not_taken_for_deleted() -> None:
    show(at_version(a_claim("odd"), 5), at_version(a_claim("gone"), 5), at=BEFORE)
    odd = UnreadableItem(b"{}", "no spec", ACME, "odd")

    mirror.replace_all(GPU_CLAIMS, Listing([], "10", [odd]), list_started=NOW)
    assert [record.name for record in ClaimRecord.objects.all()] == ["odd"]

    nameless = UnreadableItem(b"{}", "no name")
    mirror.replace_all(GPU_CLAIMS, Listing([], "10", [nameless]), list_started=NOW)
    assert ClaimRecord.objects.count() == 1


def test_an_unchanged_world_writes_nothing_but_its_freshness() -> None:
    claims = [at_version(a_claim(f"c{number}"), number + 1) for number in range(20)]
    show(*claims, at=BEFORE)

    with CaptureQueriesContext(connection) as queries:
        mirror.replace_all(GPU_CLAIMS, listing(GPU_CLAIMS, *claims), list_started=NOW)

    writes = [q["sql"] for q in queries if q["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert all("portal_feedstate" in sql for sql in writes)
    assert len(queries) < 8


def test_all_of_seven_hundred_claims_arrive_and_a_second_list_finds_nothing_to_do() -> None:
    claims = listing(GPU_CLAIMS, *(at_version(a_claim(f"c{number:03}"), number + 1) for number in range(700)))

    first = mirror.replace_all(GPU_CLAIMS, claims, list_started=NOW)
    second = mirror.replace_all(GPU_CLAIMS, claims, list_started=NOW)

    assert (first.written, second.written, second.removed) == (700, 0, 0)
    assert ClaimRecord.objects.count() == 700


def test_an_older_sync_does_not_make_the_feed_look_older() -> None:
    mirror.replace_all(GPU_CLAIMS, listing(GPU_CLAIMS), list_started=NOW)
    mirror.replace_all(GPU_CLAIMS, listing(GPU_CLAIMS), list_started=BEFORE)

    assert FeedState.objects.get().synced_at == NOW


def test_the_bytes_in_the_row_are_the_bytes_that_were_sent() -> None:
    claim = at_version(a_claim("one"), 5)

    mirror.replace_all(GPU_CLAIMS, listing(GPU_CLAIMS, claim), list_started=NOW)

    assert bytes(ClaimRecord.objects.get().body) == raw(claim)
