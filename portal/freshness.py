"""How far the mirror can be believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from portal.models import RECORDS, FeedState
from portal.once_a_request import once_a_request


@dataclass(frozen=True, kw_only=True)
class Freshness:
    """How old the rows are. ``as_of`` None: there has been no first sync, and nothing is known.

    ``is_live``: every change shows within a moment. ``is_stale``: too old to be believed; capacity then reads as unknown.
    """

    is_live: bool
    is_stale: bool
    as_of: datetime | None
    age_seconds: int | None
    kinds: Mapping[str, datetime | None]


class Noted(NamedTuple):
    """What :class:`portal.models.FeedState` says of one kind."""

    synced_at: datetime | None
    live_since: datetime | None
    revision: str


@once_a_request
def feed_states() -> Mapping[str, Noted]:
    """Give what is noted about every kind, in one query a request."""
    rows = FeedState.objects.order_by("kind").values_list("kind", *Noted._fields)
    return {kind: Noted(*noted) for kind, *noted in rows}


def freshness(*kinds: str, now: datetime | None = None) -> Freshness:
    """Give the freshness of these kinds (plurals; all by default): that of the oldest."""
    now = now or timezone.now()
    wanted = kinds or tuple(RECORDS)
    feeds = feed_states()
    synced = {kind: feeds[kind].synced_at if kind in feeds else None for kind in wanted}
    ages = [None if at is None else max(0.0, (now - at).total_seconds()) for at in synced.values()]
    known = [age for age in ages if age is not None]
    is_complete = len(known) == len(ages)
    age = max(known) if is_complete else None
    is_stale = age is None or age > settings.STALE_SECONDS
    return Freshness(
        is_live=not is_stale and all(feeds[kind].live_since is not None for kind in wanted),
        is_stale=is_stale,
        as_of=min((at for at in synced.values() if at is not None), default=None) if is_complete else None,
        age_seconds=None if age is None else int(age),
        kinds=synced,
    )
