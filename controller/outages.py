"""Which nodes are away, since when, and whether that is long enough to act on.

A kubelet that restarts or a node that is re-registered comes back within seconds; nothing moves for that. Times are seconds of the
own monotonic clock, counted from when this process first saw the node away: a clock that is set, here or on the node, never makes
a node look lost, and a new leader gives every node the whole grace time once more.
"""

from __future__ import annotations

from gpu.corekinds import Node
from gpu.eligibility import is_ready


class Outages:
    """Nodes that are gone or not Ready. Unknown and missing are not Ready."""

    def __init__(self, *, grace_seconds: float) -> None:
        self._grace_seconds = grace_seconds
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def saw(self, node: Node, *, now: float) -> None:
        """Take in a node as it is now."""
        if is_ready(node):
            self.forget(node.metadata.name)
        else:
            self.missed(node.metadata.name, now=now)

    def missed(self, name: str, *, now: float) -> None:
        """Take in that there is no such node."""
        self._since.setdefault(name, now)

    def is_over(self, name: str, *, now: float) -> bool:
        """Say whether the node is away for longer than the grace time."""
        since = self._since.get(name)
        return since is not None and now - since >= self._grace_seconds

    def newly_over(self, *, now: float) -> list[str]:
        """Name the nodes whose grace time has passed since this was last asked."""
        names = [name for name in self._since if name not in self._told and self.is_over(name, now=now)]
        self._told.update(names)
        return names

    def forget(self, name: str) -> None:
        """Forget a node that nobody is on any more."""
        self._since.pop(name, None)
        self._told.discard(name)
