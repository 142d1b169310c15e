"""A ledger and a world that go through the same steps, and how they are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
from hypothesis import event

from gpu.fit import Offer, Order, check
from gpu.ledger import Ledger
from gpu.resources import GPUClaim
from tests.builders import (
    NOON,
    a_claim,
)
from tests.gpu.steps import CLASSES, NODES, RESOURCES, TENANTS
from tests.gpu.world import World


class Play:
    """Does every step to the ledger and to the world, and checks what the step itself promises."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.world = World()
        self.expiry: dict[str, int] = {}
        self.turns: dict[str, int] = {}
        self.announced: set[tuple[str, str]] = set()

    def do(self, step: tuple[Any, ...]) -> None:
        getattr(self, step[0])(*step[1:])
        self._decided()

    def _decided(self) -> None:
        self.world.decisions = self.ledger.decisions()
        self.world.worked_out.clear()

    def set_class(self, gpu_class: Any) -> None:
        self.world.classes[gpu_class.metadata.name] = gpu_class
        self.world.last_classes[gpu_class.metadata.name] = gpu_class
        self.ledger.set_class(gpu_class)

    def set_node(self, node: Any) -> None:
        self.world.nodes[node.metadata.name] = node
        self.ledger.set_node(node)

    def set_pod(self, pod: Any) -> None:
        self.world.pods[pod.metadata.namespace, pod.metadata.name] = pod
        self.ledger.set_pod(pod)

    def set_claim(self, claim: GPUClaim) -> None:
        self.world.claims[claim.metadata.namespace, claim.metadata.name] = claim
        self.world.orders.pop(claim.metadata.uid, None)
        self.ledger.set_claim(claim)

    def set_quota(self, quota: Any) -> None:
        self.world.quotas[quota.metadata.namespace, quota.metadata.name] = quota
        self.ledger.set_quota(quota)

    def set_namespace(self, namespace: Any) -> None:
        self.world.namespaces[namespace.metadata.name] = namespace
        self.ledger.set_namespace(namespace)

    def remove_class(self, name: str) -> None:
        self.world.classes.pop(name, None)
        self.ledger.remove_class(name)

    def remove_node(self, name: str) -> None:
        self.world.nodes.pop(name, None)
        self.ledger.remove_node(name)

    def remove_pod(self, namespace: str, name: str) -> None:
        self.world.pods.pop((namespace, name), None)
        self.ledger.remove_pod(namespace, name)

    def remove_claim(self, key: tuple[str, str]) -> None:
        self.world.claims.pop(key, None)
        self.ledger.remove_claim(*key)

    def remove_quota(self, namespace: str, name: str) -> None:
        self.world.quotas.pop((namespace, name), None)
        self.ledger.remove_quota(namespace, name)

    def remove_namespace(self, name: str) -> None:
        self.world.namespaces.pop(name, None)
        self.ledger.remove_namespace(name)

    def _uid(self, label: str) -> str:
        """Give the uid of the label's order in flight, or a new one: the API server never gives a uid twice."""
        uid = f"{label}-{self.turns.get(label, 0)}"
        if uid not in self.world.orders:
            self.turns[label] = self.turns.get(label, 0) + 1
            uid = f"{label}-{self.turns[label]}"
        return uid

    def reserve(self, label: str, order: Order, expires_at: int) -> None:
        uid = self._uid(label)
        if uid in self.world.orders:
            order = self.world.orders[uid]
            assert self.ledger.reserve(uid, order, expires_at=expires_at).ok
            self.expiry[uid] = expires_at
            return
        said = self.ledger.check(order)
        verdict = self.ledger.reserve(uid, order, expires_at=expires_at)
        assert verdict == said
        event(f"reserve: {[str(r.reason) for r in verdict.refusals]}")
        assert (uid in self.ledger.decisions()) == verdict.ok
        if verdict.ok:
            self.expiry[uid] = expires_at
            node = self.ledger.decisions()[uid]
            resource = self.world.classes[order.class_name].resource_name
            assert node in self.world.serving(order.class_name)
            self._has_a_device_for_everything(node, resource)
            if order.set_name is None:
                fitting = [
                    (self.world.free(n, resource), n)
                    for n in self.world.serving(order.class_name)
                    if self.world.free(n, resource) >= order.count
                ]
                assert node == min(fitting)[1]
            self.world.orders[uid] = order

    def arrive(self, label: str, name: str) -> None:
        uid = self._uid(label)
        order = self.world.orders.get(uid)
        if order is None or (order.namespace, name) in self.world.claims:
            return
        node = self.ledger.decisions()[uid]
        self.set_claim(
            a_claim(
                name,
                gpus=order.count,
                of=order.class_name,
                namespace=order.namespace,
                set_name=order.set_name,
                uid=uid,
            )
        )
        assert self.ledger.decisions()[uid] == node

    def cancel(self, label: str) -> None:
        uid = self._uid(label)
        assert self.ledger.cancel(uid) == (uid in self.world.orders)
        self.world.orders.pop(uid, None)

    def expire(self, now: int) -> None:
        gone = self.ledger.expire(now)
        assert set(gone) == {uid for uid in self.world.orders if self.expiry[uid] <= now}
        for uid in gone:
            del self.world.orders[uid]

    def plan(self, key: tuple[str, str], after_refusals: bool) -> None:
        now = NOON + timedelta(seconds=1) if after_refusals else None
        before = self.ledger.decisions()
        node = self.ledger.plan(*key, now=now)
        claim = self.world.claims.get(key)
        if claim is None or claim.status.node_name is not None:
            return
        event(f"plan: {'a node' if node else 'none'}")
        self._decided()
        assert self.world.decisions.get(claim.metadata.uid) == node
        if node is not None:
            resource = self.world.classes[claim.spec.class_name].resource_name
            assert node in self.world.serving(claim.spec.class_name)
            assert after_refusals or not claim.status.refused_nodes or node != "n1"
            self._has_a_device_for_everything(node, resource)
            assert self.ledger.plan(*key, now=now) == node
        elif claim.spec.set_name is None and claim.spec.class_name in self.world.classes:
            assert claim.is_releasing or not self.could_place(claim, after_refusals), before

    def could_place(self, claim: GPUClaim, after_refusals: bool = False) -> bool:
        resource = self.world.classes[claim.spec.class_name].resource_name
        skipped = {r.node_name for r in claim.status.refused_nodes} if not after_refusals else set()
        return any(
            self.world.free(node, resource) >= claim.spec.count
            for node in self.world.serving(claim.spec.class_name)
            if node not in skipped
        )

    def plan_move(self, key: tuple[str, str]) -> None:
        node = self.ledger.plan_move(*key)
        if node is None:
            return
        event("plan_move: a node")
        claim = self.world.claims[key]
        assert node in self.world.serving(claim.spec.class_name)
        assert node != claim.status.node_name
        assert self.world.covering(key) is None
        self._has_a_device_for_everything(node, self.world.classes[claim.spec.class_name].resource_name)

    def unplan(self, key: tuple[str, str]) -> None:
        self.ledger.unplan(*key)
        self.announced.add(key)
        claim = self.world.claims.get(key)
        assert claim is None or claim.metadata.uid not in self.ledger.decisions()

    def write_plan(self, key: tuple[str, str]) -> None:
        claim = self.world.claims.get(key)
        node = self.ledger.decisions().get(claim.metadata.uid) if claim else None
        if claim is not None and node is not None:
            status = msgspec.structs.replace(claim.status, node_name=node)
            self.set_claim(msgspec.structs.replace(claim, status=status))
            assert claim.metadata.uid not in self.ledger.decisions()

    def _has_a_device_for_everything(self, node: str, resource: str) -> None:
        cell = self.ledger.cell(node, resource)
        assert cell.held + cell.foreign <= cell.allocatable

    def forget_promises(self) -> None:
        """Take back what the ledger alone remembers: reservations and plans."""
        for uid in self.world.orders:
            self.ledger.cancel(uid)
        for key in self.world.claims:
            self.ledger.unplan(*key)

    def compare(self, counted: Iterable[str] = RESOURCES) -> None:
        """Compare every answer with the world's own. ``counted``: the resources some class sold."""
        world, ledger = self.world, self.ledger
        for node in [*NODES, "gone"]:
            for resource in counted:
                assert msgspec.structs.astuple(ledger.cell(node, resource)) == world.cell(node, resource)
        for key in world.claims:
            assert ledger.attachment(*key) == world.attachment(key)
        for name in CLASSES:
            assert ledger.claims_of(name) == world.claims_of(name)
            if name in world.classes:
                assert list(ledger.serving_nodes(name)) == world.serving(name)
                assert ledger.overlaps(name) == world.overlaps(name)
                assert ledger.class_totals(name) == world.totals(name)
            for tenant in TENANTS:
                budgets = world.budgets(tenant, name)
                assert ledger.budgets.for_order(tenant, name) == budgets
                for set_name in (None, "s"):
                    order = Order(tenant, name, 2, set_name)
                    capacity = world.capacity(order)
                    assert ledger.capacity(name, namespace=tenant, set_name=set_name) == capacity
                    stock = world.classes.get(name)
                    offer = None if stock is None else Offer.of(stock)
                    assert ledger.check(order) == check(order, offer, capacity, budgets)


def fresh_ledger(world: World, shuffle: list[int]) -> Ledger:
    """Feed a new ledger with the state alone, in an order of the test's choice."""
    ledger = Ledger()
    steps: list[Callable[[], None]] = [
        *(partial(ledger.set_node, node) for node in world.nodes.values()),
        *(partial(ledger.set_pod, pod) for pod in world.pods.values()),
        *(partial(ledger.set_claim, claim) for claim in world.claims.values()),
        *(partial(ledger.set_quota, quota) for quota in world.quotas.values()),
        *(partial(ledger.set_namespace, namespace) for namespace in world.namespaces.values()),
        *(partial(ledger.set_class, gpu_class) for gpu_class in world.last_classes.values()),
    ]
    for place, pick in enumerate(shuffle[: len(steps)]):
        other = place + pick % (len(steps) - place)
        steps[place], steps[other] = steps[other], steps[place]
    for feed in steps:
        feed()
    for name in world.last_classes.keys() - world.classes.keys():
        ledger.remove_class(name)
    return ledger
