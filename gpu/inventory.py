"""Nodes and classes: which cells exist, which classes each one counts for, and every class's sums.

Events only change counts and mark tallies dirty; :meth:`Inventory.settle` brings the sums up to date, once for each tally that
was touched, before anything is read.
"""

from __future__ import annotations

from collections import Counter

from gpu.cells import NO_FIGURES, Tally
from gpu.corekinds import Node, NodeStatus
from gpu.eligibility import NodeReason, class_obstacles, serves
from gpu.known_nodes import KnownNode
from gpu.quantities import parse_units
from gpu.resources import GPUClass
from gpu.stock import Stock


class Inventory:
    """Every node, class and cell."""

    def __init__(self, *, require_schedulable_label: bool) -> None:
        self._require_label = require_schedulable_label
        self.nodes: dict[str, KnownNode] = {}
        self.stocks: dict[str, Stock] = {}
        self._sharing: dict[str, list[Stock]] = {}  # resource -> the classes that sell it
        self._tallies: dict[str, dict[str, Tally]] = {}  # resource -> node -> tally
        # By class. One that is gone keeps the resource it sold last: its claims still sit on those units.
        self.resource_of: dict[str, str] = {}
        self.counted: set[str] = set()
        """The resources some class sells or sold: a node lists many that are no GPUs."""
        self._dirty: list[Tally] = []
        self._unknown: dict[str, int] = {}  # node -> holds there whose units nobody can name, without zeros
        self._waiting: dict[str, int] = {}  # class -> units of claims that wait for a node, without zeros
        self._reasons: dict[str, dict[NodeReason, int]] = {}
        self.changed_classes: set[str] = set()
        self.changed_cells: set[tuple[str, str]] = set()
        self.freed_classes: set[str] = set()
        self.nodes_to_look_at: set[str] = set()

    # Nodes

    def set_node(self, node: Node) -> bool:
        """Take the node in; say whether anything changed that decides who may be there. Heartbeats do not."""
        name = node.metadata.name
        known = self.nodes.get(name)
        if known is not None and known.is_same(node):
            return False
        new = self.nodes[name] = KnownNode(node, require_schedulable_label=self._require_label)
        self._count_again(name, new.resources | known.resources if known is not None else new.resources)
        return True

    def remove_node(self, name: str) -> bool:
        known = self.nodes.pop(name, None)
        if known is None:
            return False
        self._count_again(name, known.resources)
        return True

    def _count_again(self, node: str, resources: frozenset[str]) -> None:
        known = self.nodes.get(node)
        status = known.node.status if known is not None else NodeStatus()
        for resource in resources & self.counted:
            self._count_cell(node, resource, status)
        self._reasons.clear()
        # A class that no node serves tells why, and that may change with any node.
        self.changed_classes.update(name for name, stock in self.stocks.items() if not stock.buckets.free_of)
        self.nodes_to_look_at.add(node)

    def _count_cell(self, node: str, resource: str, status: NodeStatus) -> None:
        tally = self.tally(node, resource)
        tally.capacity = parse_units(status.capacity.get(resource, 0)) or 0
        tally.allocatable = parse_units(status.allocatable.get(resource, 0)) or 0
        self.touch(tally)
        self._rejoin(tally)

    def _start_counting(self, resource: str) -> None:
        self.counted.add(resource)
        for name, known in self.nodes.items():
            if resource in known.resources:
                self._count_cell(name, resource, known.node.status)

    # Classes

    def set_class(self, gpu_class: GPUClass) -> bool:
        """Take the class in; say whether its spec changed."""
        name = gpu_class.metadata.name
        old = self.stocks.get(name)
        if old is not None and old.gpu_class.spec == gpu_class.spec:
            old.gpu_class = gpu_class
            return False
        if old is not None:
            self._withdraw(old)
        stock = self.stocks[name] = Stock(gpu_class)
        if stock.resource:
            self.resource_of[name] = stock.resource
        else:
            self.resource_of.pop(name, None)
        if stock.resource not in self.counted:
            self._start_counting(stock.resource)
        self._sharing.setdefault(stock.resource, []).append(stock)
        self._rejoin_all(stock.resource)
        self._class_changed(stock)
        return True

    def remove_class(self, name: str) -> bool:
        stock = self.stocks.pop(name, None)
        if stock is None:
            return False
        self._withdraw(stock)
        return True

    def _withdraw(self, stock: Stock) -> None:
        self._class_changed(stock)
        sharing = self._sharing[stock.resource]
        sharing.remove(stock)
        if not sharing:
            del self._sharing[stock.resource]
        self._rejoin_all(stock.resource)

    def _class_changed(self, stock: Stock) -> None:
        self._reasons.pop(stock.name, None)
        self.changed_classes.add(stock.name)
        self.changed_classes.update(other.name for other in self._sharing.get(stock.resource, ()))

    def _rejoin_all(self, resource: str) -> None:
        for tally in self._tallies.get(resource, {}).values():
            self._rejoin(tally)

    # Cells

    def tally(self, node: str, resource: str) -> Tally:
        """Give the running count, a new one where there was none."""
        by_node = self._tallies.get(resource)
        if by_node is None:
            by_node = self._tallies[resource] = {}
        tally = by_node.get(node)
        if tally is None:
            tally = by_node[node] = Tally(node, resource)
            tally.is_closed = node in self._unknown
            self.touch(tally)
        return tally

    def find_tally(self, node: str, resource: str) -> Tally | None:
        return self._tallies.get(resource, {}).get(node)

    def tallies(self) -> list[Tally]:
        """Give every running count, in no order."""
        return [tally for by_node in self._tallies.values() for tally in by_node.values()]

    def touch(self, tally: Tally) -> None:
        """Say that a count of the tally changed."""
        if not tally.is_dirty:
            tally.is_dirty = True
            self._dirty.append(tally)

    def settle(self) -> None:
        """Bring the sums up to date with every touched tally."""
        dirty = self._dirty
        if not dirty:
            return
        self._dirty = []
        for tally in dirty:
            tally.is_dirty = False
            old, new = tally.figures, tally.current()
            if old != new:
                tally.figures = new
                for stock in tally.serving:
                    stock.account(tally.node, old, new)
                    self.changed_classes.add(stock.name)
                    if new[4] > old[4] and self._waiting:
                        self.freed_classes.add(stock.name)
                for stock in tally.idle:
                    stock.account_idle(old, new)
                    self.changed_classes.add(stock.name)
                if (new[5] > 0) != (old[5] > 0):
                    self.nodes_to_look_at.add(tally.node)
                self.changed_cells.add((tally.node, tally.resource))
            if new == NO_FIGURES and not self._is_listed(tally):
                del self._tallies[tally.resource][tally.node]

    def _is_listed(self, tally: Tally) -> bool:
        known = self.nodes.get(tally.node)
        return known is not None and tally.resource in known.resources

    def _rejoin(self, tally: Tally) -> None:
        """Decide anew which classes the tally counts for."""
        node, figures = tally.node, tally.figures
        serving: list[Stock] = []
        idle: list[Stock] = []
        known = self.nodes.get(node)
        listed = known is not None and tally.resource in known.resources
        sharing = self._sharing.get(tally.resource, ()) if listed else ()
        suited: list[Stock] = []
        for stock in sharing:
            assert known is not None  # noqa: S101  # else it is not listed
            reasons = {obstacle.reason for obstacle in class_obstacles(stock.gpu_class, known.node)}
            if not reasons:
                suited.append(stock)
                (idle if known.obstacles else serving).append(stock)
            elif NodeReason.SELECTOR_MISMATCH not in reasons:
                idle.append(stock)
        for stock in (*tally.serving, *tally.idle):
            stock.suiting.discard(node)
        for stock in suited:
            stock.suiting.add(node)
        for stock in tally.serving:
            stock.leave(node, figures)
            self.changed_classes.add(stock.name)
        for stock in tally.idle:
            stock.account_idle(figures, NO_FIGURES)
            self.changed_classes.add(stock.name)
        for stock in serving:
            stock.account(node, NO_FIGURES, figures)
            self.changed_classes.add(stock.name)
            self.freed_classes.add(stock.name)
        for stock in idle:
            stock.account_idle(NO_FIGURES, figures)
            self.changed_classes.add(stock.name)
        tally.serving, tally.idle = tuple(serving), tuple(idle)

    # Claims

    def add_unknown(self, node: str, holds: int) -> None:
        """Count holds on the node whose units nobody can name. While there are any, it sells nothing."""
        was = self._unknown.pop(node, 0)
        if was + holds:
            self._unknown[node] = was + holds
        if was and was + holds:
            return
        for by_node in self._tallies.values():
            tally = by_node.get(node)
            if tally is not None:
                tally.is_closed = not was
                self.touch(tally)

    def add_waiting(self, class_name: str, units: int) -> None:
        waiting = self._waiting.get(class_name, 0) + units
        if waiting:
            self._waiting[class_name] = waiting
        else:
            self._waiting.pop(class_name, None)
        stock = self.stocks.get(class_name)
        if stock is not None:
            for other in self._sharing[stock.resource]:
                self.changed_classes.add(other.name)

    def waiting_before(self, stock: Stock) -> int:
        """Count the units of waiting claims that a new order of the class has to leave."""
        if not self._waiting:
            return 0
        sharing = self._sharing[stock.resource]
        if len(sharing) == 1:
            return self._waiting.get(stock.name, 0)
        return sum(
            self._waiting.get(other.name, 0)
            for other in sharing
            if other is stock or (other.name in self._waiting and _overlap(stock, other))
        )

    # Answers about classes

    def overlaps(self, class_name: str) -> tuple[str, ...]:
        """Name the other classes that sell the same units: same resource, and a node that suits both."""
        stock = self.stocks.get(class_name)
        if stock is None:
            return ()
        others = (other for other in self._sharing[stock.resource] if other is not stock)
        return tuple(sorted(other.name for other in others if _overlap(stock, other)))

    def node_reasons(self, class_name: str) -> dict[NodeReason, int]:
        """Count the nodes that do not serve the class, each under its most basic reason."""
        stock = self.stocks.get(class_name)
        if stock is None:
            return {}
        counted = self._reasons.get(class_name)
        if counted is None:
            found = (self._first_reason(stock.gpu_class, known.node) for known in self.nodes.values())
            counted = self._reasons[class_name] = dict(
                Counter(reason for reason in found if reason is not None)
            )
        return dict(counted)

    def _first_reason(self, gpu_class: GPUClass, node: Node) -> NodeReason | None:
        reasons = serves(gpu_class, node, require_schedulable_label=self._require_label).reasons
        return reasons[0] if reasons else None


def _overlap(one: Stock, other: Stock) -> bool:
    return not one.suiting.isdisjoint(other.suiting)
