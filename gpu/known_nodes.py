"""What is kept of a node: the parts that decide something."""

from __future__ import annotations

from functools import lru_cache
from sys import intern
from typing import Final

from gpu.corekinds import Node, NodeCondition, NodeStatus, ObjectMeta, OwnerReference
from gpu.eligibility import Obstacle, is_ready, node_obstacles

_NO_ANNOTATIONS: Final[dict[str, str]] = {}
_NO_FINALIZERS: Final[list[str]] = []
_NO_OWNERS: Final[list[OwnerReference]] = []
_READY: Final = [NodeCondition(type="Ready", status="True")]
_NOT_READY: Final = [NodeCondition(type="Ready", status="False")]


class KnownNode:
    """A node as the ledger knows it, with what follows from it for every class."""

    __slots__ = ("is_ready", "node", "obstacles", "resources")

    def __init__(self, node: Node, *, require_schedulable_label: bool) -> None:
        self.node = _slim(node)
        self.is_ready = is_ready(node)
        self.obstacles: tuple[Obstacle, ...] = node_obstacles(
            node, require_schedulable_label=require_schedulable_label
        )
        self.resources = frozenset(
            resource
            for quantities in (node.status.capacity, node.status.allocatable)
            for resource in quantities
            if "/" in resource
        )

    def is_same(self, node: Node) -> bool:
        """Compare what decides something; a heartbeat changes other things only."""
        known = self.node
        return (
            known.status.allocatable == node.status.allocatable
            and known.metadata.labels == node.metadata.labels
            and known.status.capacity == node.status.capacity
            and known.spec == node.spec
            and (known.metadata.deletion_timestamp is None) is (node.metadata.deletion_timestamp is None)
            and self.is_ready is is_ready(node)
        )


def _slim(node: Node) -> Node:
    """Leave out what decides nothing, and keep one string of each label: ten thousand nodes carry the same ones."""
    return Node(
        metadata=ObjectMeta(
            name=node.metadata.name,
            labels={intern(key): intern(value) for key, value in node.metadata.labels.items()},
            annotations=_NO_ANNOTATIONS,
            finalizers=_NO_FINALIZERS,
            owner_references=_NO_OWNERS,
            deletion_timestamp=node.metadata.deletion_timestamp,
        ),
        spec=node.spec,
        status=NodeStatus(
            capacity=_shared(node.status.capacity),
            allocatable=_shared(node.status.allocatable),
            conditions=_READY if is_ready(node) else _NOT_READY,
        ),
    )


def _shared(quantities: dict[str, str | int]) -> dict[str, str | int]:
    """Give one dictionary for all nodes that have the same. Nobody changes it."""
    return _shared_items(tuple(quantities.items()))


@lru_cache(maxsize=4096, typed=True)
def _shared_items(items: tuple[tuple[str, str | int], ...]) -> dict[str, str | int]:
    return {intern(resource): intern(value) if isinstance(value, str) else value for resource, value in items}
