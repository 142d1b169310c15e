"""What happened to a collection, for watches to follow and for pages of a list to agree with each other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

Key = tuple[str, str]


class Keyed(Protocol):
    @property
    def key(self) -> Key: ...


R = TypeVar("R", bound=Keyed)


@dataclass(slots=True)
class Change(Generic[R]):
    """One change. ``after`` is absent for a deletion, whose last state is ``last``.

    ``lines`` keeps what was already encoded for watchers, so that many of them cost one encoding.
    """

    version: int
    before: R | None
    after: R | None
    last: R | None = None
    lines: dict[str, bytes] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        subject = self.after or self.last
        if subject is None:
            raise ValueError("a change is about an object")
        return subject.key


class TooOld(Exception):
    """The asked resourceVersion is no longer in the history."""


class History(Generic[R]):
    """The last ``length`` changes. ``since`` is the oldest resourceVersion a reader may start after."""

    def __init__(self, *, length: int, since: int) -> None:
        self._length = length
        self._changes: list[Change[R]] = []
        self.since = since
        self.listeners: set[asyncio.Event] = set()

    def add(self, change: Change[R]) -> None:
        self._changes.append(change)
        # Cutting off in pieces of a quarter keeps the cost per change constant.
        if len(self._changes) > self._length + self._length // 4:
            cut = len(self._changes) - self._length
            self.since = self._changes[cut - 1].version
            del self._changes[:cut]
        for listener in self.listeners:
            listener.set()

    def after(self, version: int) -> list[Change[R]]:
        """Give the changes after a resourceVersion. Raise TooOld when some of them are forgotten."""
        if version < self.since:
            raise TooOld
        first = len(self._changes)
        while first and self._changes[first - 1].version > version:
            first -= 1
        return self._changes[first:]

    def undone(self, version: int) -> dict[Key, R | None]:
        """Say how the objects that changed since were at a resourceVersion (None: not there)."""
        then: dict[Key, R | None] = {}
        for change in reversed(self.after(version)):
            then[change.key] = change.before
        return then
