"""How fresh the numbers are, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.freshness import freshness
from portal.templatetags.times import suffixed, words


@dataclass(frozen=True, kw_only=True)
class FreshnessWords:
    """What the corner of every page says. ``as_of`` None: nothing has been read yet."""

    is_live: bool = False
    is_stale: bool = True
    word: str = "no data yet"
    title: str = "Nothing has been read from the cluster yet"
    as_of: datetime | None = None
    age: str = ""


def freshness_words() -> FreshnessWords:
    """Word the mirror's freshness."""
    state = freshness()
    if state.as_of is None:
        return FreshnessWords()
    clock = f"{state.as_of:%H:%M:%S} UTC"
    age = suffixed(words(timedelta(seconds=state.age_seconds or 0)), "ago")
    if state.is_live:
        return FreshnessWords(
            is_live=True, is_stale=False, word="live", title=f"As of {clock}", as_of=state.as_of, age=age
        )
    return FreshnessWords(
        is_stale=state.is_stale,
        word="live data lost" if state.is_stale else "not live",
        title=f"Last read from the cluster at {clock}",
        as_of=state.as_of,
        age=age,
    )
