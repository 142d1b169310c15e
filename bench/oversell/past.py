"""What was true a moment ago. Whoever decides cannot have seen what was told later than that."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


KEPT_SECONDS: Final = 180.0
"""Longer than the longest call and the oldest picture together."""


class Past(Generic[K, V]):
    """Values by key that were replaced or left. What is older than KEPT_SECONDS is forgotten."""

    def __init__(self) -> None:
        self._kept: defaultdict[K, deque[tuple[float, V]]] = defaultdict(deque)

    def keep(self, key: K, value: V, *, at: float) -> None:
        self._kept[key].append((at, value))

    def recent(self, key: K, *, at: float, since: float | None = None) -> list[V]:
        """Give what was kept under the key since then, or as long as it is not forgotten."""
        kept = self._kept.get(key)
        if kept is None:
            return []
        while kept and kept[0][0] < at - KEPT_SECONDS:
            kept.popleft()
        if not kept:
            del self._kept[key]
        return [value for kept_at, value in kept if since is None or kept_at >= since]
