"""How far the mirror can be believed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from portal.freshness import freshness
from portal.mirror import feeds
from portal.models import RECORDS

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def test_before_the_first_sync_nothing_is_known() -> None:
    fresh = freshness(now=NOW)

    assert (fresh.is_live, fresh.is_stale, fresh.as_of, fresh.age_seconds) == (False, True, None, None)


def test_one_kind_that_was_never_listed_makes_the_whole_unknown() -> None:
    feeds.synced(*list(RECORDS)[1:], at=NOW)

    assert freshness(now=NOW).as_of is None
    assert freshness(list(RECORDS)[1], now=NOW).as_of == NOW


def test_the_oldest_kind_decides() -> None:
    feeds.synced(*RECORDS, at=NOW)
    feeds.synced("nodes", at=NOW + timedelta(seconds=5))

    fresh = freshness(now=NOW + timedelta(seconds=10))

    assert (fresh.as_of, fresh.age_seconds, fresh.is_stale) == (NOW, 10, False)


def test_what_nobody_vouched_for_within_the_limit_is_stale_and_not_live(settings: Settings) -> None:
    settings.STALE_SECONDS = 30
    for kind in RECORDS:
        feeds.live(kind, since=NOW)

    assert freshness(now=NOW + timedelta(seconds=30)).is_live
    late = freshness(now=NOW + timedelta(seconds=31))
    assert (late.is_live, late.is_stale, late.age_seconds) == (False, True, 31)


def test_a_clock_that_runs_ahead_gives_no_negative_age() -> None:
    feeds.synced(*RECORDS, at=NOW + timedelta(minutes=2))

    assert freshness(now=NOW).age_seconds == 0


def test_rows_of_a_full_sync_are_not_live() -> None:
    feeds.synced(*RECORDS, at=NOW)

    fresh = freshness(now=NOW)

    assert (fresh.is_live, fresh.is_stale) == (False, False)


def test_asking_costs_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    feeds.synced(*RECORDS, at=NOW)

    with django_assert_num_queries(1):
        freshness()
