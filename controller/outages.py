"""Which nodes are away, since when, and whether that is long enough to act on.

A kubelet that restarts or a node that is re-registered comes back within seconds; nothing moves for that.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gpu.corekinds import Node


def away_since(node: Node, now: datetime) -> datetime | None:
    """Since when the node is not Ready, or None when it is. Unknown and missing are not Ready."""
    ready = next((condition for condition in node.status.conditions or () if condition.type == "Ready"), None)
    if ready is not None and ready.status == "True":
        return None
    if ready is None or ready.last_transition_time is None:
        return now
    return min(ready.last_transition_time, now)


class Outages:
    """Nodes that are gone or not Ready."""

    def __init__(self, *, grace_seconds: float) -> None:
        self._grace = timedelta(seconds=grace_seconds)
        self._since: dict[str, datetime] = {}
        self._told: set[str] = set()

    def saw(self, node: Node, *, now: datetime) -> None:
        """Take in a node as it is now."""
        since = away_since(node, now)
        if since is None:
            self.forget(node.metadata.name)
        else:
            self._since.setdefault(node.metadata.name, since)

    def missed(self, name: str, *, now: datetime) -> None:
        """Take in that there is no such node."""
        self._since.setdefault(name, now)

    def is_over(self, name: str, *, now: datetime) -> bool:
        """Say whether the node is away for longer than the grace time."""
        since = self._since.get(name)
        return since is not None and now - since >= self._grace

    def newly_over(self, *, now: datetime) -> list[str]:
        """Name the nodes whose grace time has passed since this was last asked."""
        names = [name for name in self._since if name not in self._told and self.is_over(name, now=now)]
        self._told.update(names)
        return names

    def forget(self, name: str) -> None:
        """Forget a node that nobody is on any more."""
        self._since.pop(name, None)
        self._told.discard(name)
