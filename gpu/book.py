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
        self._of_class: dict[str, set[Hold]] = {}
        self._at_node: dict[str, set[Hold]] = {}
        self._sets: dict[tuple[str, str], set[Hold]] = {}
        self._waiting: dict[str, set[Hold]] = {}
        self._pods: dict[tuple[str, str], LivePod] = {}
        self._naming: dict[ClaimKey, list[LivePod]] = {}
        self.changed_claims: set[ClaimKey] = set()
        self.changed_namespaces: set[str] = set()

    # Who is where. Sets are of object identity: whoever shows them sorts them.

    def of_class(self, class_name: str) -> set[Hold] | frozenset[Hold]:
        return self._of_class.get(class_name, _NOBODY)

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
        self._of_class.setdefault(hold.class_name, set()).add(hold)
        if hold.set_name:
            self._sets.setdefault((hold.namespace, hold.set_name), set()).add(hold)
        for node in {hold.node, hold.planned} - {None}:
            assert node is not None  # noqa: S101  # just taken out
            self._at_node.setdefault(node, set()).add(hold)
        self._budgets.charge(hold.namespace, hold.class_name, hold.units)
        self.changed_namespaces.add(hold.namespace)
        self.charge(hold)

    def strike(self, hold: Hold) -> None:
        """Give back everything the hold was charged and forget it."""
        if hold.is_claim:
            del self.claims[hold.key]
        else:
            del self.reservations[hold.uid]
        self.place(hold, node=None, planned=None)
        if hold.waits:
            self._set_waits(hold, False)
        _discard(self._of_class, hold.class_name, hold)
        if hold.set_name:
            _discard(self._sets, (hold.namespace, hold.set_name), hold)
        self._budgets.charge(hold.namespace, hold.class_name, -hold.units)
        self.changed_namespaces.add(hold.namespace)

    def place(self, hold: Hold, *, node: str | None, planned: str | None) -> None:
        """Move the hold: ``node`` as its status says, ``planned`` as decided here."""
        before, after = {hold.node, hold.planned}, {node, planned}
        hold.node, hold.planned = node, planned
        if before != after:
            for left in before - after:
                if left is not None:
                    _discard(self._at_node, left, hold)
            for reached in after - before:
                if reached is not None:
                    self._at_node.setdefault(reached, set()).add(hold)
        self.charge(hold)

    def charge(self, hold: Hold) -> None:
        """Bring every charge of the hold in line with where it is and what its class sells now."""
        inventory = self._inventory
        resource = inventory.resource_of(hold.class_name)
        wanted = inventory.tally(hold.node, resource) if hold.node and resource else None
        if wanted is not hold.at_node:
            self._shift(hold.at_node, wanted, hold.units)
            hold.at_node = wanted
            if hold.pod is not None:
                self._weigh(hold.pod)
        wanted = inventory.tally(hold.planned, resource) if hold.planned and resource else None
        if wanted is not hold.at_planned:
            self._shift(hold.at_planned, wanted, hold.units)
            hold.at_planned = wanted
        waits = not (hold.node or hold.planned or hold.is_releasing) and self.claims.get(hold.key) is hold
        if waits is not hold.waits:
            self._set_waits(hold, waits)
        self._cover(hold)

    def _shift(self, old: Tally | None, new: Tally | None, units: int) -> None:
        for tally, change in ((old, -units), (new, units)):
            if tally is not None:
                tally.held += change
                self._inventory.touch(tally)

    def _set_waits(self, hold: Hold, waits: bool) -> None:
        hold.waits = waits
        if waits:
            self._waiting.setdefault(hold.class_name, set()).add(hold)
        else:
            _discard(self._waiting, hold.class_name, hold)
        self._inventory.add_waiting(hold.class_name, hold.units if waits else -hold.units)

    # Pods

    def set_pod(self, pod: Pod) -> None:
        key = (pod.metadata.namespace, pod.metadata.name)
        old, new = self._pods.get(key), read_pod(pod)
        if old is None and new is None:
            return
        if old is not None and new is not None and old.is_same(new):
            return
        if old is not None:
            self._forget_pod(key, old)
        if new is not None:
            self._pods[key] = new
            for claim in new.claims:
                self._naming.setdefault(claim, []).append(new)
            self._weigh(new)
            for claim in new.claims:
                self._cover_claim(claim)

    def remove_pod(self, namespace: str, name: str) -> None:
        old = self._pods.get((namespace, name))
        if old is not None:
            self._forget_pod((namespace, name), old)

    def _forget_pod(self, key: tuple[str, str], pod: LivePod) -> None:
        del self._pods[key]
        for claim in pod.claims:
            naming = self._naming[claim]
            naming.remove(pod)
            if not naming:
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
        naming = self._naming.get(hold.key) if hold.node and hold.is_claim else None
        pod = None
        if naming and self.claims.get(hold.key) is hold:
            pod = min((p for p in naming if p.node == hold.node), key=lambda p: p.age, default=None)
        old = hold.pod
        if pod is not old:
            hold.pod = pod
            self.changed_claims.add(hold.key)
            if old is not None:
                old.covers.remove(hold)
                self._weigh(old)
            if pod is not None:
                pod.covers.append(hold)
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
        new = pod.excess_over((inventory.resource_of(hold.class_name), hold.units) for hold in pod.covers)
        old = pod.excess
        if new == old:
            return
        pod.excess = new
        for resource in old.keys() | new.keys():
            tally = inventory.tally(pod.node, resource)
            tally.foreign += new.get(resource, 0) - old.get(resource, 0)
            inventory.touch(tally)


def _discard(index: dict[K, set[Hold]], key: K, hold: Hold) -> None:
    found = index.get(key)
    if found is not None:
        found.discard(hold)
        if not found:
            del index[key]
