"""Who holds what: every hold and pod, and the one place that charges them to cells and budgets."""

from __future__ import annotations

from typing import Final, TypeVar

from gpu.attachment import LivePod, read_pod
from gpu.budgets import Budgets
from gpu.cells import Tally
from gpu.corekinds import Pod
from gpu.holds import ClaimKey, Hold
from gpu.inventory import Inventory

K = TypeVar("K")
_NOBODY: Final[frozenset[Hold]] = frozenset()


class Book:
    """Holds by claim, class, node and set, and the pods that run with them.

    A hold is charged by what it says of itself (:meth:`charge` is a no-op when nothing changed), so no event has to know what
    an earlier one did.
    """

    def __init__(self, inventory: Inventory, budgets: Budgets) -> None:
        self._inventory = inventory
        self._budgets = budgets
        self.claims: dict[ClaimKey, Hold] = {}
        self.reservations: dict[str, Hold] = {}
        self._at_node: dict[str, set[Hold]] = {}
        self._sets: dict[tuple[str, str], set[Hold]] = {}
        self._waiting: dict[str, set[Hold]] = {}
        self._unknown: dict[Hold, str] = {}  # bound and of a class nobody saw -> the node it closes
        self._pods: dict[tuple[str, str], LivePod] = {}
        self._naming: dict[ClaimKey, tuple[LivePod, ...]] = {}
        self.changed_claims: set[ClaimKey] = set()
        self.changed_namespaces: set[str] = set()

    # Who is where. Sets are of object identity: whoever shows them sorts them.

    def of_class(self, class_name: str) -> list[Hold]:
        """Find the class's holds. Looks at all of them: classes are edited seldom, claims come and go."""
        holds = (*self.claims.values(), *self.reservations.values())
        return [hold for hold in holds if hold.class_name == class_name]

    def at_node(self, node: str) -> set[Hold] | frozenset[Hold]:
        """Give the holds bound to the node or planned for it."""
        return self._at_node.get(node, _NOBODY)

    def in_set(self, namespace: str, set_name: str | None) -> set[Hold] | frozenset[Hold]:
        return self._sets.get((namespace, set_name), _NOBODY) if set_name else _NOBODY

    def waiting(self, class_name: str) -> set[Hold] | frozenset[Hold]:
        return self._waiting.get(class_name, _NOBODY)

    # Holds

    def enter(self, hold: Hold) -> None:
        """Take a new hold in and charge it."""
        if hold.is_claim:
            self.claims[hold.key] = hold
        else:
            self.reservations[hold.uid] = hold
        hold.is_listed = True
        if hold.set_name:
            _include(self._sets, (hold.namespace, hold.set_name), hold)
        if hold.node is not None:
            _include(self._at_node, hold.node, hold)
        if hold.planned is not None:
            _include(self._at_node, hold.planned, hold)
        self._budgets.charge(hold.namespace, hold.class_name, hold.units)
        self.changed_namespaces.add(hold.namespace)
        self.charge(hold)

    def strike(self, hold: Hold) -> None:
        """Give back everything the hold was charged and forget it."""
        if hold.is_claim:
            del self.claims[hold.key]
        else:
            del self.reservations[hold.uid]
        hold.is_listed = False
        self.place(hold, node=None, planned=None)
        if hold.set_name:
            _exclude(self._sets, (hold.namespace, hold.set_name), hold)
            self._look_at_set(hold)
        self._budgets.charge(hold.namespace, hold.class_name, -hold.units)
        self.changed_namespaces.add(hold.namespace)

    def place(self, hold: Hold, *, node: str | None, planned: str | None) -> None:
        """Move the hold: ``node`` as its status says, ``planned`` as decided here."""
        old_node, old_planned = hold.node, hold.planned
        if node != old_node or planned != old_planned:
            hold.node, hold.planned = node, planned
            if old_node is not None and old_node not in (node, planned):
                _exclude(self._at_node, old_node, hold)
            if old_planned is not None and old_planned not in (node, planned):
                _exclude(self._at_node, old_planned, hold)
            if node is not None:
                _include(self._at_node, node, hold)
            if planned is not None:
                _include(self._at_node, planned, hold)
            if hold.set_name:
                self._look_at_set(hold)
        self.charge(hold)

    def _look_at_set(self, hold: Hold) -> None:
        """The set may have another node now, or none to wait for any more."""
        for member in self.in_set(hold.namespace, hold.set_name):
            if member.waits:
                self.changed_claims.add(member.key)

    def charge(self, hold: Hold) -> None:
        """Bring every charge of the hold in line with where it is and what its class sells now."""
        inventory = self._inventory
        resource = inventory.resource_of.get(hold.class_name)
        node, planned, was_bound = hold.node, hold.planned, hold.at_node
        if self._unknown or (resource is None and node is not None):
            self._close(hold, node if resource is None else None)
        bound = None
        if was_bound is not None and was_bound.node == node and was_bound.resource == resource:
            bound = was_bound
        elif node is not None and resource is not None:
            bound = inventory.tally(node, resource)
            hold.node = bound.node  # one string for a node, however many claims name it
        if bound is not was_bound:
            self._shift(was_bound, bound, hold.units)
            hold.at_node = bound
            if hold.pod is not None:
                self._weigh(hold.pod)
        was_going = hold.at_planned
        if planned is not None or was_going is not None:
            going = (
                inventory.tally(planned, resource) if planned is not None and resource is not None else None
            )
            if going is not was_going:
                self._shift(was_going, going, hold.units)
                hold.at_planned = going
        waits = (
            node is None and planned is None and hold.is_claim and hold.is_listed and not hold.is_releasing
        )
        if waits is not hold.waits:
            self._set_waits(hold, waits)
        if hold.pod is not None or hold.key in self._naming:
            self._cover(hold)

    def _close(self, hold: Hold, node: str | None) -> None:
        """Have the node, and no other, sell nothing because of the hold."""
        old = self._unknown.pop(hold, None)
        if node is not None:
            self._unknown[hold] = node
        if node == old:
            return
        if old is not None:
            self._inventory.add_unknown(old, -1)
        if node is not None:
            self._inventory.add_unknown(node, 1)

    def _shift(self, old: Tally | None, new: Tally | None, units: int) -> None:
        if old is not None:
            old.held -= units
            self._inventory.touch(old)
        if new is not None:
            new.held += units
            self._inventory.touch(new)

    def _set_waits(self, hold: Hold, waits: bool) -> None:
        hold.waits = waits
        if waits:
            _include(self._waiting, hold.class_name, hold)
            self._inventory.add_waiting(hold.class_name, hold.units)
        else:
            _exclude(self._waiting, hold.class_name, hold)
            self._inventory.add_waiting(hold.class_name, -hold.units)

    # Pods

    def set_pod(self, pod: Pod) -> None:
        key = (pod.metadata.namespace, pod.metadata.name)
        old, new = self._pods.get(key), read_pod(pod)
        if new is None:
            if old is not None:
                self._forget_pod(key, old)
            return
        if old is not None:
            if old.is_same(new):
                return
            self._forget_pod(key, old)
        self._pods[key] = new
        for claim in new.claims:
            self._naming[claim] = (*self._naming.get(claim, ()), new)
        for claim in new.claims:
            self._cover_claim(claim)
        if not new.covers:
            self._weigh(new)

    def remove_pod(self, namespace: str, name: str) -> None:
        old = self._pods.get((namespace, name))
        if old is not None:
            self._forget_pod((namespace, name), old)

    def weigh_pods_asking(self, resource: str) -> None:
        """Count a resource's pods, once it is one that is sold."""
        for pod in self._pods.values():
            if resource in pod.asks:
                self._weigh(pod)

    def _forget_pod(self, key: tuple[str, str], pod: LivePod) -> None:
        del self._pods[key]
        for claim in pod.claims:
            others = tuple([other for other in self._naming[claim] if other is not pod])
            if others:
                self._naming[claim] = others
            else:
                del self._naming[claim]
        pod.asks = {}
        self._weigh(pod)
        for claim in pod.claims:
            self._cover_claim(claim)

    def _cover_claim(self, claim: ClaimKey) -> None:
        hold = self.claims.get(claim)
        if hold is not None:
            self._cover(hold)

    def _cover(self, hold: Hold) -> None:
        """Find the pod that runs with the hold, and count the hold as in use or not."""
        old, pod = hold.pod, None
        if hold.node is not None and hold.is_claim and hold.is_listed:
            for candidate in self._naming.get(hold.key, ()):
                if candidate.node == hold.node and (pod is None or candidate.is_older_than(pod)):
                    pod = candidate
        if pod is not old:
            hold.pod = pod
            self.changed_claims.add(hold.key)
            if old is not None:
                old.covers = tuple([other for other in old.covers if other is not hold])
                self._weigh(old)
            if pod is not None:
                pod.covers = (*pod.covers, hold)
                self._weigh(pod)
        wanted = hold.at_node if pod is not None else None
        was = hold.in_use_at
        if wanted is not was:
            if was is not None:
                was.in_use -= hold.units
                self._inventory.touch(was)
            if wanted is not None:
                wanted.in_use += hold.units
                self._inventory.touch(wanted)
            hold.in_use_at = wanted

    def _weigh(self, pod: LivePod) -> None:
        """Charge what the pod asks for beyond its claims as foreign."""
        inventory = self._inventory
        old, new = pod.excess, pod.excess_over_claims(inventory.resource_of, inventory.counted)
        if new == old:
            return
        pod.excess = new
        for resource in old.keys() | new.keys():
            tally = inventory.tally(pod.node, resource)
            tally.foreign += new.get(resource, 0) - old.get(resource, 0)
            inventory.touch(tally)


def _include(index: dict[K, set[Hold]], key: K, hold: Hold) -> None:
    found = index.get(key)
    if found is None:
        index[key] = {hold}
    else:
        found.add(hold)


def _exclude(index: dict[K, set[Hold]], key: K, hold: Hold) -> None:
    found = index.get(key)
    if found is not None:
        found.discard(hold)
        if not found:
            del index[key]
