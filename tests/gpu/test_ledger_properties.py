"""Whatever happens in whatever order, the ledger says what a computation from the state alone says, and sells nothing twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from gpu.cells import Cell
from gpu.corekinds import Taint
from gpu.fit import Offer, Order, check
from gpu.ledger import Ledger
from gpu.resources import GPUClaim, OnCordon, Operator, Toleration
from tests.builders import (
    NOON,
    a_claim,
    a_class,
    a_launcher,
    a_namespace,
    a_node,
    a_pod,
    a_quota,
    refusal_of,
)
from tests.gpu.world import World, fresh_ledger

NODES = ["n1", "n2", "n3"]
RESOURCES = ["v.io/A", "v.io/B"]
CLASSES = ["ca", "cb", "cc"]
NAMES = ["a", "b", "c", "d"]
TENANTS = ["tenant-root", "tenant-x", "tenant-x-y"]
TAINT = Taint(key="gpu", value="yes", effect="NoSchedule")

classes = st.builds(
    lambda name, resource, picky, tolerant, limit, cordon: a_class(
        name,
        resource=resource,
        selector={"pool": "p"} if picky else None,
        tolerations=[Toleration(key="gpu", operator=Operator.EXISTS)] if tolerant else None,
        max_count=limit,
        on_cordon=cordon,
    ),
    st.sampled_from(CLASSES),
    st.sampled_from(RESOURCES),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, None, 2]),
    st.sampled_from(OnCordon),
)
nodes = st.builds(
    lambda name, a, b, flags, pool: a_node(
        name,
        allocatable={r: n for r, n in zip(RESOURCES, (a, b), strict=True) if n is not None},
        capacity={r: 4 for r, n in zip(RESOURCES, (a, b), strict=True) if n is not None},
        ready=flags != 1,
        cordoned=flags == 2,
        taints=[TAINT] if flags == 3 else [],
        deleting=flags == 4,
        schedulable=flags != 5,
        labels={"pool": "p"} if pool else {},
    ),
    st.sampled_from(NODES),
    st.sampled_from([None, 0, 2, 4, "4", "-1", "x"]),
    st.sampled_from([None, 1, 4]),
    st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, 5]),
    st.booleans(),
)
pods = st.builds(
    lambda vm, claims, asks, node, tenant, phase, minute, launcher: (
        a_launcher if launcher else lambda vm, claims, **rest: a_pod(vm, **rest)
    )(
        vm,
        claims=claims,
        asks=asks,
        node=node,
        namespace=tenant,
        phase=phase,
        created_at=NOON + timedelta(minutes=minute),
    ),
    st.sampled_from(["vm1", "vm2"]),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    st.dictionaries(st.sampled_from([*RESOURCES, "cpu"]), st.integers(0, 3), max_size=3),
    st.sampled_from(["", *NODES]),
    st.sampled_from(TENANTS[1:]),
    st.sampled_from(["Running", "Pending", "Running", "Succeeded", "Failed"]),
    st.integers(0, 1),
    st.booleans(),
)
claims = st.builds(
    lambda name, gpus, of, tenant, set_name, node, uid, releasing, refused: a_claim(
        name,
        gpus=gpus,
        of=of,
        namespace=tenant,
        set_name=set_name,
        node=node,
        uid=uid and f"{tenant}-{name}-again",
        releasing=releasing,
        refused=[refusal_of("n1", until=NOON)] if refused else (),
    ),
    st.sampled_from(NAMES),
    st.integers(1, 3),
    st.sampled_from(CLASSES),
    st.sampled_from(TENANTS[1:]),
    st.sampled_from([None, None, "s"]),
    st.sampled_from([None, None, *NODES, "gone"]),
    st.sampled_from([None, None, None, "again"]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([False, False, False, True]),
)
quotas = st.builds(
    lambda hard, name, tenant, scoped: a_quota(
        hard, name=name, namespace=tenant, scopes=["BestEffort"] if scoped else ()
    ),
    st.dictionaries(
        st.builds(
            lambda prefix, subject: f"{prefix}gpu.cozystack.io/{subject}",
            st.sampled_from(["", "requests.", "limits."]),
            st.sampled_from(["ca", "cb", "total", "total"]),
        ),
        st.integers(0, 6),
        max_size=3,
    ),
    st.sampled_from(["q1", "q2"]),
    st.sampled_from(TENANTS),
    st.sampled_from([False, False, False, True]),
)
namespaces = st.builds(
    lambda name, labelled: a_namespace(name, ancestors=TENANTS[: TENANTS.index(name)] if labelled else ()),
    st.sampled_from(TENANTS),
    st.booleans(),
)
orders = st.builds(
    Order,
    st.sampled_from(TENANTS[1:]),
    st.sampled_from(CLASSES),
    st.integers(1, 4),
    st.sampled_from([None, None, "s"]),
)
claim_keys = st.tuples(st.sampled_from(TENANTS[1:]), st.sampled_from(NAMES))
uids = st.sampled_from(["u1", "u2", "u3"])


def _steps() -> st.SearchStrategy[tuple[Any, ...]]:
    def step(name: str, *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
        return st.tuples(st.just(name), *parts)

    return st.one_of(
        step("set_class", classes),
        step("set_node", nodes),
        step("set_node", nodes),
        step("set_pod", pods),
        step("set_claim", claims),
        step("set_claim", claims),
        step("set_quota", quotas),
        step("set_namespace", namespaces),
        step("remove_class", st.sampled_from(CLASSES)),
        step("remove_node", st.sampled_from(NODES)),
        step(
            "remove_pod", st.sampled_from(TENANTS[1:]), st.sampled_from(["virt-launcher-vm1", "vm1", "vm2"])
        ),
        step("remove_claim", claim_keys),
        step("remove_quota", st.sampled_from(TENANTS), st.sampled_from(["q1", "q2"])),
        step("remove_namespace", st.sampled_from(TENANTS)),
        step("reserve", uids, orders, st.integers(1, 9)),
        step("reserve", uids, orders, st.integers(1, 9)),
        step("arrive", uids, st.sampled_from(NAMES)),
        step("cancel", uids),
        step("expire", st.integers(1, 9)),
        step("plan", claim_keys, st.booleans()),
        step("plan", claim_keys, st.booleans()),
        step("plan_move", claim_keys),
        step("unplan", claim_keys),
        step("write_plan", claim_keys),
    )


FURNISHED: list[tuple[Any, ...]] = [
    ("set_class", a_class("ca", resource="v.io/A")),
    ("set_class", a_class("cb", resource="v.io/A", selector={"pool": "p"})),
    ("set_class", a_class("cc", resource="v.io/B")),
    *(
        ("set_node", a_node(name, allocatable={"v.io/A": 4, "v.io/B": 2}, labels={"pool": "p"}))
        for name in NODES
    ),
]


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

    def compare(self) -> None:
        """Compare every answer with the world's own."""
        world, ledger = self.world, self.ledger
        for node in [*NODES, "gone"]:
            for resource in RESOURCES:
                assert msgspec.structs.astuple(ledger.cell(node, resource)) == world.cell(node, resource)
        for key in world.claims:
            assert ledger.attachment(*key) == world.attachment(key)
        for name in CLASSES:
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


def _told(ledger: Ledger) -> dict[str, dict[Any, Any]]:
    """Give every answer under the kind and key by which a change of it has to be announced."""
    return {
        "classes": {
            name: (
                ledger.capacity(name),
                ledger.class_totals(name),
                ledger.overlaps(name),
                ledger.serving_nodes(name) or ledger.node_reasons(name),
            )
            for name in CLASSES
        },
        "claims": {
            (tenant, name): (
                ledger.attachment(tenant, name),
                ledger.health(tenant, name),
                ledger.claim_uid(tenant, name),
            )
            for tenant in TENANTS
            for name in NAMES
        },
        "cells": {(node, resource): ledger.cell(node, resource) for node in NODES for resource in RESOURCES},
        "quotas": {tenant: ledger.budgets.used(tenant) for tenant in TENANTS},
    }


def _answers(ledger: Ledger, sold: set[str]) -> dict[str, Any]:
    return {
        "cells": {key: cell for key, cell in ledger.cells().items() if key[1] in sold and cell != Cell()},
        "capacity": {name: ledger.capacity(name) for name in CLASSES},
        "totals": {name: ledger.class_totals(name) for name in CLASSES},
        "serving": {name: ledger.serving_nodes(name) for name in CLASSES},
        "reasons": {name: ledger.node_reasons(name) for name in CLASSES},
        "overlaps": {name: ledger.overlaps(name) for name in CLASSES},
        "claims": {name: ledger.claims_of(name) for name in CLASSES},
        "on": {name: ledger.claims_on(name) for name in NODES},
        "waiting": ledger.waiting_claims(),
        "budgets": {
            (tenant, name): ledger.budgets.for_order(tenant, name) for tenant in TENANTS for name in CLASSES
        },
        "used": {tenant: ledger.budgets.used(tenant) for tenant in TENANTS},
        "attached": {
            (tenant, name): (ledger.attachment(tenant, name), ledger.health(tenant, name))
            for tenant in TENANTS
            for name in NAMES
        },
    }


@settings(
    max_examples=50,
    deadline=None,
    phases=set(Phase) - {Phase.explain},
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(_steps(), min_size=20, max_size=60))
def test_every_difference_is_announced(steps: list[tuple[Any, ...]]) -> None:
    play = Play()
    for step in FURNISHED:
        play.do(step)
    play.ledger.take_changes()
    before = _told(play.ledger)

    for step in steps:
        play.do(step)
        changes, after = play.ledger.take_changes(), _told(play.ledger)

        for kind, answers in after.items():
            different = {key for key, answer in answers.items() if answer != before[kind][key]}
            assert different <= getattr(changes, kind)
        placeable = {
            key
            for key, claim in play.world.claims.items()
            if play.world.waits(claim)
            and claim.spec.set_name is None
            and claim.spec.class_name in play.world.classes
            and play.could_place(claim)
        }
        assert placeable <= changes.claims | play.announced
        play.announced = (play.announced | changes.claims) & placeable
        before = after


# The explain phase traces every line on this Python and takes minutes.
@settings(
    max_examples=100,
    deadline=None,
    phases=set(Phase) - {Phase.explain},
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(_steps(), min_size=20, max_size=60), st.lists(st.integers(0, 99), min_size=40, max_size=40))
def test_after_any_sequence_the_ledger_says_what_a_recomputation_says(
    steps: list[tuple[Any, ...]], shuffle: list[int]
) -> None:
    play = Play()
    for step in FURNISHED:
        play.do(step)

    for step in steps:
        play.do(step)
        play.compare()

    for uid in list(play.world.orders):
        play.ledger.cancel(uid)
    for key in play.world.claims:
        play.ledger.unplan(*key)
    assert play.ledger.decisions() == {}
    sold = {gpu_class.resource_name for gpu_class in play.world.last_classes.values()}
    assert _answers(play.ledger, sold) == _answers(fresh_ledger(play.world, shuffle), sold)
