"""The ledger: who holds what, what is free, and where the next claim goes.

Fed with the state of nodes, pods, classes, claims, quotas and namespaces in any order, it always says what a computation from
that state alone would say; reservations and plans are the only memory of its own, and both end by themselves. Events may
repeat. One event costs a few changes of numbers, however large the cluster is.

What a claim that waits for a node asks for is taken off what new orders find, for every class that sells the same units: it
keeps its place. A claim counts on the resource its class sells now; once the class is gone, on the one it sold last. What a claim
of a class that was gone before has, nobody can say: its node sells nothing until it leaves or the class returns. Only resources
that some class sells or sold are counted: a node lists many that are no GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from gpu.book import Book
from gpu.budgets import Budgets
from gpu.cells import Cell
from gpu.conditions import HealthyReason
from gpu.corekinds import Namespace, Node, Pod, ResourceQuota
from gpu.eligibility import NodeReason
from gpu.fit import Capacity, Order, Verdict
from gpu.health import Harm, harm_of_edit, problems
from gpu.holds import ClaimKey, Hold
from gpu.inventory import Inventory
from gpu.planning import Planner
from gpu.resources import AttachedTo, GPUClaim, GPUClass
from gpu.stock import ClassTotals


class Changes(Struct, frozen=True):
    """What may be different since it was last asked. Naming too much is allowed, too little is not.

    ``claims`` are those to look at: new or changed, without a node that could have one now, attached or detached, with another
    health. ``quotas`` are namespaces whose use or budgets changed.
    """

    classes: frozenset[str]
    claims: frozenset[ClaimKey]
    cells: frozenset[tuple[str, str]]
    quotas: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.classes or self.claims or self.cells or self.quotas)


class Ledger:
    """The in-memory truth. Not safe for threads: one owner feeds and asks it."""

    def __init__(self, *, require_schedulable_label: bool = True) -> None:
        self.budgets = Budgets()
        self._inventory = Inventory(require_schedulable_label=require_schedulable_label)
        self._book = Book(self._inventory, self.budgets)
        self._planner = Planner(self._inventory, self._book, self.budgets)

    # Events

    def set_class(self, gpu_class: GPUClass) -> None:
        is_counted = gpu_class.resource_name in self._inventory.counted
        if self._inventory.set_class(gpu_class):
            if not is_counted:
                self._book.weigh_pods_asking(gpu_class.resource_name)
            self._look_at_class(gpu_class.metadata.name)

    def remove_class(self, name: str) -> None:
        if self._inventory.remove_class(name):
            self._look_at_class(name)

    def _look_at_class(self, name: str) -> None:
        holds = self._book.of_class(name)
        for hold in holds:
            self._book.charge(hold)
        self._book.changed_claims.update(_claims(holds))

    def set_node(self, node: Node) -> None:
        self._inventory.set_node(node)

    def remove_node(self, name: str) -> None:
        self._inventory.remove_node(name)

    def set_pod(self, pod: Pod) -> None:
        self._book.set_pod(pod)

    def remove_pod(self, namespace: str, name: str) -> None:
        self._book.remove_pod(namespace, name)

    def set_claim(self, claim: GPUClaim) -> None:
        meta, status = claim.metadata, claim.status
        key = (meta.namespace, meta.name)
        book = self._book
        book.changed_claims.add(key)
        hold = book.claims.get(key)
        node = status.node_name or None
        is_releasing = meta.deletion_timestamp is not None
        if hold is not None and (hold.uid != meta.uid or not hold.asks_for(meta.namespace, claim.spec)):
            book.strike(hold)
            hold = None
        if hold is None:
            hold = Hold(namespace=meta.namespace, name=meta.name, uid=meta.uid, spec=claim.spec)
            hold.created_at = meta.creation_timestamp
            hold.refused, hold.is_releasing, hold.node = status.refused_nodes or (), is_releasing, node
            self._planner.take_over(meta.uid, hold, claim.spec)
            if node is not None or is_releasing:
                hold.planned = None
            book.enter(hold)
            return
        hold.refused = status.refused_nodes or ()
        if node != hold.node or is_releasing is not hold.is_releasing:
            hold.is_releasing = is_releasing
            # A new node is the plan carried out, or one that overtook it.
            ends_plan = is_releasing or (node is not None and node != hold.node)
            book.place(hold, node=node, planned=None if ends_plan else hold.planned)

    def remove_claim(self, namespace: str, name: str, *, uid: str | None = None) -> None:
        """Forget the claim. With a uid: only when it is still that one."""
        hold = self._book.claims.get((namespace, name))
        if hold is not None and uid in (None, hold.uid):
            self._book.changed_claims.add(hold.key)
            self._book.strike(hold)

    def set_quota(self, quota: ResourceQuota) -> None:
        if self.budgets.set_quota(quota):
            self._book.changed_namespaces.add(quota.metadata.namespace)

    def remove_quota(self, namespace: str, name: str) -> None:
        if self.budgets.remove_quota(namespace, name):
            self._book.changed_namespaces.add(namespace)

    def set_namespace(self, namespace: Namespace) -> None:
        if self.budgets.set_namespace(namespace):
            self._book.changed_namespaces.add(namespace.metadata.name)

    def remove_namespace(self, name: str) -> None:
        if self.budgets.remove_namespace(name):
            self._book.changed_namespaces.add(name)

    # Orders

    def check(self, order: Order) -> Verdict:
        """Say whether the order fits now. Charges nothing."""
        return self._planner.check(order)

    def reserve(self, uid: str, order: Order, *, expires_at: float) -> Verdict:
        """Check the order and, when it fits, charge a node and the budgets for the claim with that uid.

        The claim's arrival ends the reservation, else :meth:`expire`. Asked again for the same uid it charges nothing twice.
        """
        return self._planner.reserve(uid, order, expires_at=expires_at)

    def cancel(self, uid: str) -> bool:
        """End a reservation; say whether there was one."""
        return self._planner.cancel(uid)

    def expire(self, now: float) -> list[str]:
        """End the reservations whose time has come and give their uids."""
        return self._planner.expire(now)

    # Decisions about claims

    def plan(self, namespace: str, name: str, *, now: datetime | None = None) -> str | None:
        """Give the node to bind the claim to; it is charged from now on. ``None``: the claim waits, or there is none.

        Nodes that refused the claim's set are skipped until their entry expires; without ``now`` none has expired. A claim of
        a set goes where the set is; when the whole set waits, all of it is placed together.
        """
        hold = self._book.claims.get((namespace, name))
        return self._planner.plan(hold, now=now) if hold is not None else None

    def plan_move(self, namespace: str, name: str, *, now: datetime | None = None) -> str | None:
        """Choose another node for a bound claim with its whole set; ``None`` when it stays.

        It stays when a VM runs with one of them, a class is gone or no other node has room. Whether the classes want to leave
        a cordoned node is another question: :meth:`leaves_cordoned_node`.
        """
        hold = self._book.claims.get((namespace, name))
        return self._planner.plan_move(hold, now=now) if hold is not None else None

    def unplan(self, namespace: str, name: str) -> None:
        """Give back a plan that could not be written for good. The caller knows when to look at the claim again."""
        hold = self._book.claims.get((namespace, name))
        if hold is not None:
            self._planner.unplan(hold)

    def leaves_cordoned_node(self, namespace: str, name: str) -> bool:
        """Say whether every class of the claim's set says Move and no VM runs with any of them."""
        hold = self._book.claims.get((namespace, name))
        return hold is not None and self._planner.may_leave(hold)

    def waits(self, namespace: str, name: str) -> bool:
        """Say whether the claim has neither a node nor a plan."""
        hold = self._book.claims.get((namespace, name))
        return hold is not None and hold.waits

    def waiting_claims(self) -> tuple[ClaimKey, ...]:
        """Name the claims without a node or a plan, the oldest first: the order in which to plan them."""
        return self._planner.waiting_claims()

    # Answers

    def capacity(
        self, class_name: str, *, namespace: str | None = None, set_name: str | None = None
    ) -> Capacity:
        """Give what a new order of the class finds; for an order of a set name the namespace and set too."""
        return self._planner.capacity(class_name, namespace=namespace, set_name=set_name)

    def class_totals(self, class_name: str) -> ClassTotals:
        self._inventory.settle()
        stock = self._inventory.stocks.get(class_name)
        return stock.totals() if stock is not None else ClassTotals()

    def cell(self, node: str, resource: str) -> Cell:
        tally = self._inventory.find_tally(node, resource)
        return tally.as_cell() if tally is not None else Cell()

    def cells(self) -> dict[tuple[str, str], Cell]:
        """Give every cell by (node, resource)."""
        self._inventory.settle()
        return {(tally.node, tally.resource): tally.as_cell() for tally in self._inventory.tallies()}

    def serving_nodes(self, class_name: str) -> tuple[str, ...]:
        stock = self._inventory.stocks.get(class_name)
        return tuple(sorted(stock.buckets.free_of)) if stock is not None else ()

    def overlaps(self, class_name: str) -> tuple[str, ...]:
        """Name the other classes that sell the same units of some node."""
        return self._inventory.overlaps(class_name)

    def node_reasons(self, class_name: str) -> dict[NodeReason, int]:
        """Count the nodes that do not serve the class, each under its most basic reason."""
        return self._inventory.node_reasons(class_name)

    def attachment(self, namespace: str, name: str) -> AttachedTo | None:
        """Give the VM instance that runs with the claim now."""
        hold = self._book.claims.get((namespace, name))
        return hold.pod.vm_instance if hold is not None and hold.pod is not None else None

    def health(self, namespace: str, name: str) -> tuple[HealthyReason, ...]:
        """Say everything that is wrong with a bound claim; nothing for one that has no node."""
        hold = self._book.claims.get((namespace, name))
        return problems(hold, self._inventory) if hold is not None else ()

    def claim_uid(self, namespace: str, name: str) -> str | None:
        """Give the uid of the claim of that name, when there is one."""
        hold = self._book.claims.get((namespace, name))
        return hold.uid if hold is not None else None

    def claims_on(self, node: str) -> tuple[ClaimKey, ...]:
        """Name the claims bound to the node or planned for it."""
        return tuple(sorted(_claims(self._book.at_node(node))))

    def claims_of(self, class_name: str) -> int:
        """Count the claims that name the class, and the orders of it whose claim has not arrived yet."""
        return len(self._book.of_class(class_name))

    def decisions(self) -> dict[str, str]:
        """Give the nodes charged and not written yet: planned node by uid of the claim or reservation."""
        holds = (*self._book.claims.values(), *self._book.reservations.values())
        return {hold.uid: hold.planned for hold in holds if hold.planned is not None}

    def harm_of_edit(self, edited: GPUClass) -> Harm:
        """Count the claims that a class would leave unhealthy if it were edited to this."""
        holds = (hold for hold in self._book.of_class(edited.metadata.name) if hold.is_claim)
        return harm_of_edit(edited, holds, self._inventory)

    def take_changes(self) -> Changes:
        """Give what changed since the last call."""
        inventory, book = self._inventory, self._book
        inventory.settle()
        claims = book.changed_claims
        for node in inventory.nodes_to_look_at:
            claims.update(_claims(book.at_node(node)))
        for class_name in inventory.freed_classes:
            claims.update(_claims(book.waiting(class_name)))
        changes = Changes(
            classes=frozenset(inventory.changed_classes),
            claims=frozenset(claims),
            cells=frozenset(inventory.changed_cells),
            quotas=frozenset(book.changed_namespaces),
        )
        for taken in (
            inventory.nodes_to_look_at,
            inventory.freed_classes,
            inventory.changed_classes,
            inventory.changed_cells,
            book.changed_claims,
            book.changed_namespaces,
        ):
            taken.clear()
        return changes


def _claims(holds: Iterable[Hold]) -> Iterable[ClaimKey]:
    return (hold.key for hold in holds if hold.is_claim)
