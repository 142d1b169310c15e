"""What is wrong with a hold that is kept all the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from gpu.conditions import HealthyReason
from gpu.corekinds import Node
from gpu.eligibility import NodeReason, blocking_taints, matches_selector
from gpu.fit import effective_max_count
from gpu.holds import Hold
from gpu.inventory import Inventory
from gpu.resources import GPUClass

# The node lifecycle controller sets and clears these by itself; they say that a node is ill, not that a class changed.
_SYSTEM_TAINTS: Final = "node.kubernetes.io/"


def problems(hold: Hold, inventory: Inventory) -> tuple[HealthyReason, ...]:
    """Give every reason against the hold's health, the most pressing first; nothing while it has no node."""
    if hold.node is None:
        return ()
    found: list[HealthyReason] = []
    known = inventory.nodes.get(hold.node)
    against = {obstacle.reason for obstacle in known.obstacles} if known is not None else set()
    if known is None or not against.isdisjoint({NodeReason.NODE_NOT_READY, NodeReason.NODE_DELETING}):
        found.append(HealthyReason.NODE_NOT_READY)
    if NodeReason.NODE_CORDONED in against:
        found.append(HealthyReason.NODE_CORDONED)
    if hold.at_node is not None and hold.at_node.current()[5]:
        found.append(HealthyReason.OVER_COMMITTED)
    stock = inventory.stocks.get(hold.class_name)
    if (
        stock is None
        or _outgrew(hold, stock.offer.max_count)
        or (known is not None and _left_the_node(stock.gpu_class, known.node))
    ):
        found.append(HealthyReason.CLASS_CHANGED)
    return tuple(found)


class Harm(Struct, frozen=True):
    """How many holds an edit of their class leaves unfit for it. None of them is given up."""

    outgrown: int = 0
    """They have more units than one order may have."""
    astray: int = 0
    """They sit on a node that the class would not choose any more."""

    def __bool__(self) -> bool:
        return bool(self.outgrown or self.astray)


def harm_of_edit(edited: GPUClass, holds: Iterable[Hold], inventory: Inventory) -> Harm:
    """Count the class's holds that the edit would make unhealthy. Those that are so already do not count again."""
    stock = inventory.stocks.get(edited.metadata.name)
    max_count = effective_max_count(edited.spec)
    outgrown = astray = 0
    for hold in holds:
        known = inventory.nodes.get(hold.node) if hold.node is not None else None
        if _outgrew(hold, max_count):
            outgrown += stock is None or not _outgrew(hold, stock.offer.max_count)
        elif known is not None and _left_the_node(edited, known.node):
            astray += stock is None or not _left_the_node(stock.gpu_class, known.node)
    return Harm(outgrown=outgrown, astray=astray)


def _outgrew(hold: Hold, max_count: int | None) -> bool:
    return max_count is not None and hold.units > max_count


def _left_the_node(gpu_class: GPUClass, node: Node) -> bool:
    """Say whether the class would not choose the node again for a reason that is not the node's own illness.

    A plugin that restarts takes the resource out of allocatable; only a node that never had it is of another class.
    """
    if not matches_selector(gpu_class.spec.node_selector, node.metadata.labels):
        return True
    status = node.status
    if gpu_class.resource_name not in status.capacity and gpu_class.resource_name not in status.allocatable:
        return True
    taints = blocking_taints(gpu_class.spec.tolerations or (), node)
    return any(not taint.key.startswith(_SYSTEM_TAINTS) for taint in taints)
