"""Nodes by their free units: sum, maximum and best fit without looking at every node."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush


class Buckets:
    """The nodes that serve one class, one bucket for each number of free units.

    A change writes the node at the end of its new bucket's list. Only who asks for the best node of a bucket pays for order:
    the list goes into a heap by name then. An entry counts while its node is still in that bucket.
    """

    __slots__ = ("_arrived", "_counts", "_heaps", "free_of", "largest", "total")

    def __init__(self) -> None:
        self.free_of: dict[str, int] = {}
        self.total = 0
        self.largest = 0
        self._counts: dict[int, int] = {}
        self._arrived: dict[int, list[str]] = {}
        self._heaps: dict[int, list[str]] = {}

    def put(self, node: str, free: int) -> None:
        """Set how many units the node has free."""
        old = self.free_of.get(node)
        if old == free:
            return
        self.free_of[node] = free
        counts = self._counts
        count = counts.get(free)
        if count is None:
            counts[free] = 1
            self._arrived[free] = [node]
            self._heaps[free] = []
        else:
            counts[free] = count + 1
            arrived = self._arrived[free]
            arrived.append(node)
            if len(arrived) > 4 * count + 64:
                self._arrived[free] = self._only_present(arrived, free)
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
            entries = self._heaps[free] + self._arrived[free]
            left = [node for node in entries if self.free_of.get(node) == free and node not in skip]
            if left:
                return min(left)
        return None

    def _leave(self, free: int) -> None:
        self.total -= free
        count = self._counts[free] - 1
        if count:
            self._counts[free] = count
            return
        del self._counts[free], self._arrived[free], self._heaps[free]
        if free == self.largest:
            self.largest = max(self._counts, default=0)

    def _first(self, free: int) -> str:
        heap, free_of = self._heaps[free], self.free_of
        if self._arrived[free]:
            for node in self._only_present(self._arrived[free], free):
                heappush(heap, node)
            self._arrived[free] = []
            if len(heap) > 4 * self._counts[free] + 64:
                heap[:] = self._only_present(heap, free)
                heapify(heap)
        while free_of.get(heap[0]) != free:
            heappop(heap)
        return heap[0]

    def _only_present(self, entries: list[str], free: int) -> list[str]:
        return list({node for node in entries if self.free_of.get(node) == free})
