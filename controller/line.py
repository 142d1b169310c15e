"""Who waits for units of which class, first come first served.

New orders are checked against what the waiting claims leave, so nobody may overtake here either: while the oldest claim of a class
waits, the younger ones do.
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
    """The waiting claims of every class."""

    def __init__(self) -> None:
        self._places: dict[str, dict[Key, Place]] = {}
        self._class_of: dict[Key, str] = {}
        self._first: dict[str, Place] = {}  # looked up often, found by looking at all: kept until it leaves

    def __len__(self) -> int:
        return len(self._class_of)

    def waiting(self) -> list[Key]:
        """Name all who wait, the first come first."""
        return [
            key for _, key in sorted(place for places in self._places.values() for place in places.values())
        ]

    def join(self, claim: GPUClaim) -> Key | None:
        """Wait. Joining again changes nothing; one made anew under its name takes a new place. Give who is first now, if so."""
        place, class_name = place_of(claim), claim.spec.class_name
        known = self._places.get(self._class_of.get(place[1], ""), {}).get(place[1])
        following = None
        if known is not None and (known, self._class_of[place[1]]) != (place, class_name):
            following = self.leave(place[1])
        self._places.setdefault(class_name, {})[place[1]] = place
        self._class_of[place[1]] = class_name
        if class_name in self._first:
            self._first[class_name] = min(self._first[class_name], place)
        return following

    def leave(self, key: Key) -> Key | None:
        """Wait no more; give who is first now, if that changed."""
        class_name = self._class_of.pop(key, None)
        if class_name is None:
            return None
        places = self._places[class_name]
        was_first = self._first_of(class_name)[1] == key
        del places[key]
        if not places:
            del self._places[class_name]
        if was_first:
            self._first.pop(class_name, None)
        return self._first_of(class_name)[1] if was_first and places else None

    def is_behind(self, claim: GPUClaim) -> bool:
        """Say whether an older claim of the same class waits."""
        class_name = claim.spec.class_name
        return class_name in self._places and self._first_of(class_name) < place_of(claim)

    def _first_of(self, class_name: str) -> Place:
        first = self._first.get(class_name)
        if first is None:
            first = self._first[class_name] = min(self._places[class_name].values())
        return first
