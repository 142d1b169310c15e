"""The guarantee behind the watch: list everything from time to time, and repair what differs."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.utils import timezone

from kube.kinds import AnyKind
from portal.cluster import gateway
from portal.mirror import clock, feeds, stock
from portal.mirror.listing import Replaced, replace_all
from portal.models import Pulse

_log = structlog.get_logger(__name__)


def sync(kind: AnyKind) -> Replaced:
    """List the kind and make its rows equal. Raises kube.errors.KubeError."""
    list_started = clock.now()
    if not mirror_is_alive(now=timezone.now()):
        feeds.lost([kind.plural])
    listing = gateway().list_all(kind)
    replaced = replace_all(kind, listing, list_started=list_started)
    if replaced.written or replaced.removed:
        _log.info("repaired", kind=kind.plural, written=replaced.written, removed=replaced.removed)
    if listing.unreadable:
        _log.error(
            "objects cannot be read", kind=kind.plural, names=[i.name for i in listing.unreadable][:10]
        )
    return replaced


def count_stock(*, now: datetime) -> bool:
    """Count the stock anew from the rows when the mirror process, which keeps it, gives no sign of life; say whether."""

    def is_wanted() -> bool:
        return not mirror_is_alive(now=now)

    return is_wanted() and stock.recount(is_wanted=is_wanted)


def mirror_is_alive(*, now: datetime) -> bool:
    since = now - timedelta(seconds=settings.PULSE_SECONDS)
    return Pulse.objects.filter(process="mirror", at__gte=since).exists()
