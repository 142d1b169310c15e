"""Who waits for units of which class, first come first served.

New orders are checked against what the waiting claims leave, so nobody may overtake here either: while the oldest claim of a class
waits, the younger ones do. But nobody waits for one that has no use for what is free.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from controller.world import Key, key_of
from gpu.resources import GPUClaim

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
Place = tuple[datetime, Key]


def place_of(claim: GPUClaim) -> Place:
    """Give what decides who came first."""
    return claim.metadata.creation_timestamp or _NEVER, key_of(claim.metadata)


class Line:
    """The waiting claims of every class. Some hold up those behind them, some do not."""

    def __init__(self) -> None:
        self._waiting: dict[Key, tuple[str, Place]] = {}  # with the class
        self._holding: dict[str, dict[Key, Place]] = {}  # by class, those who hold others up
        self._first: dict[str, Place] = {}  # looked up often, found by looking at all: kept until it leaves

    def __len__(self) -> int:
        return len(self._waiting)

    def waiting(self) -> list[Key]:
        """Name all who wait, the first come first."""
        return [key for _, key in sorted(place for _, place in self._waiting.values())]

    def join(self, claim: GPUClaim, *, holds_up: bool = True) -> Key | None:
        """Wait; one made anew under its name takes a new place. Give who is first now, if that changed by somebody's leaving."""
        place, class_name = place_of(claim), claim.spec.class_name
        key, entry, following = place[1], (class_name, place), None
        if self._waiting.get(key) != entry:
            following = self.leave(key)
            self._waiting[key] = entry
        if not holds_up:
            return self._step_aside(key) or following
        self._holding.setdefault(class_name, {})[key] = place
        if class_name in self._first:
            self._first[class_name] = min(self._first[class_name], place)
        return following

    def leave(self, key: Key) -> Key | None:
        """Wait no more; give who is first now, if that changed."""
        following = self._step_aside(key)
        self._waiting.pop(key, None)
        return following

    def is_behind(self, claim: GPUClaim) -> bool:
        """Say whether an older claim of the same class waits and holds this one up."""
        class_name = claim.spec.class_name
        return class_name in self._holding and self._first_of(class_name) < place_of(claim)

    def _step_aside(self, key: Key) -> Key | None:
        class_name, _ = self._waiting.get(key, ("", None))
        holding = self._holding.get(class_name, {})
        if key not in holding:
            return None
        was_first = self._first_of(class_name)[1] == key
        del holding[key]
        if was_first:
            del self._first[class_name]
        if not holding:
            del self._holding[class_name]
            return None
        return self._first_of(class_name)[1] if was_first else None

    def _first_of(self, class_name: str) -> Place:
        first = self._first.get(class_name)
        if first is None:
            first = self._first[class_name] = min(self._holding[class_name].values())
        return first
