"""How fresh each feed of the mirror is, for the hoster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.utils import timezone

from portal.freshness import Noted, feed_states
from portal.models import RECORDS
from portal.pills import Pill

_LIVE: Final = Pill("live", "check", "ok")
_SYNCED: Final = Pill("not live", "clock", "low")
_STALE: Final = Pill("lost", "unplug", "out")
_NEVER: Final = Pill("no data yet", "circle-question-mark", "unknown")


@dataclass(frozen=True)
class Feed:
    kind: str
    synced_at: datetime | None
    live_since: datetime | None
    state: Pill


def feeds() -> list[Feed]:
    """Give a line for every mirrored kind."""
    states = feed_states()
    return [_feed(kind.KIND.name, states.get(plural)) for plural, kind in RECORDS.items()]


def _feed(kind: str, state: Noted | None) -> Feed:
    if state is None or state.synced_at is None:
        return Feed(kind, None, None, _NEVER)
    too_old = timezone.now() - state.synced_at > timedelta(seconds=settings.STALE_SECONDS)
    shown = _STALE if too_old else _LIVE if state.live_since else _SYNCED
    return Feed(kind, state.synced_at, state.live_since, shown)
