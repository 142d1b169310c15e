"""Nodes by their free units: sum, maximum and best fit without looking at every node."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush


class Buckets:
    """The nodes that serve one class, one bucket for each number of free units.

    A change moves one node between two buckets. Each bucket keeps its nodes in a heap by name that is cleaned only when
    somebody takes from it: an entry counts while the node is still in that bucket.
    """

    __slots__ = ("_counts", "_heaps", "free_of", "largest", "total")

    def __init__(self) -> None:
        self.free_of: dict[str, int] = {}
        self.total = 0
        self.largest = 0
        self._counts: dict[int, int] = {}
        self._heaps: dict[int, list[str]] = {}

    def put(self, node: str, free: int) -> None:
        """Set how many units the node has free."""
        old = self.free_of.get(node)
        if old == free:
            return
        self.free_of[node] = free
        counts = self._counts
        count = counts.get(free, 0) + 1
        counts[free] = count
        heap = self._heaps.get(free)
        if heap is None:
            heap = self._heaps[free] = []
        heappush(heap, node)
        if len(heap) > 4 * count + 64:
            self._clean(free)
        self.total += free
        if free > self.largest:
            self.largest = free
        if old is not None:
            self._leave(old)

    def drop(self, node: str) -> None:
        """Take the node out; it need not be in."""
        old = self.free_of.pop(node, None)
        if old is not None:
            self._leave(old)

    def best(self, units: int, *, skip: AbstractSet[str] = frozenset()) -> str | None:
        """Give the node with the least free units that are enough, the first by name among equals."""
        if units > self.largest:
            return None
        if not skip:
            return self._first(min(free for free in self._counts if free >= units))
        # Refused nodes are rare, so only then is a bucket looked at node by node.
        for free in sorted(free for free in self._counts if free >= units):
            named = [
                node for node in self._heaps[free] if self.free_of.get(node) == free and node not in skip
            ]
            if named:
                return min(named)
        return None

    def _leave(self, free: int) -> None:
        self.total -= free
        count = self._counts[free] - 1
        if count:
            self._counts[free] = count
            return
        del self._counts[free], self._heaps[free]
        if free == self.largest:
            self.largest = max(self._counts, default=0)

    def _first(self, free: int) -> str:
        heap, free_of = self._heaps[free], self.free_of
        while free_of.get(heap[0]) != free:
            heappop(heap)
        return heap[0]

    def _clean(self, free: int) -> None:
        kept = list({node for node in self._heaps[free] if self.free_of.get(node) == free})
        heapify(kept)
        self._heaps[free] = kept
