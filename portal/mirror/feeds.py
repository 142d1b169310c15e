"""What is noted about the freshness of each kind, and about the life of our own processes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q

from portal.models import FeedState, Pulse


def synced(*kinds: str, at: datetime) -> None:
    """Note that the rows of these kinds were right then. An older note never replaces a newer one."""
    FeedState.objects.bulk_create([FeedState(kind=kind) for kind in kinds], ignore_conflicts=True)
    older = FeedState.objects.filter(Q(synced_at__isnull=True) | Q(synced_at__lt=at), kind__in=kinds)
    older.update(synced_at=at)


def live(kind: str, *, since: datetime) -> None:
    """Note that the watch of the kind runs."""
    synced(kind, at=since)
    FeedState.objects.filter(kind=kind, live_since=None).update(live_since=since)


def lost(kinds: Iterable[str]) -> None:
    """Note that nobody watches these kinds now."""
    FeedState.objects.filter(kind__in=list(kinds)).update(live_since=None)


def revised(kind: str) -> None:
    """Note that what web processes remember of the kind has changed."""
    FeedState.objects.bulk_create(
        [FeedState(kind=kind)], update_conflicts=True, unique_fields=["kind"], update_fields=["revision"]
    )


def pulse(process: str, *, at: datetime) -> None:
    """Note a sign of life."""
    if not Pulse.objects.filter(process=process).update(at=at):
        Pulse.objects.bulk_create([Pulse(process=process, at=at)], ignore_conflicts=True)
