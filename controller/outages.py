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

    def saw(self, node: Node, *, now: datetime) -> None:
        """Take in a node as it is now."""
        since = away_since(node, now)
        if since is None:
            self._since.pop(node.metadata.name, None)
        else:
            self._since.setdefault(node.metadata.name, since)

    def missed(self, name: str, *, now: datetime) -> None:
        """Take in that there is no such node."""
        self._since.setdefault(name, now)

    def is_over(self, name: str, *, now: datetime) -> bool:
        """Say whether the node is away for longer than the grace time."""
        since = self._since.get(name)
        return since is not None and now - since >= self._grace

    def over(self, *, now: datetime) -> list[str]:
        """Name the nodes that are away for longer than the grace time."""
        return [name for name, since in self._since.items() if now - since >= self._grace]
