"""The same order gets the same reasons, with the same numbers, at all three doors: preview, admission (dry run and real), ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from claims.orders import OrderRefused, OrderSpec
from claims.preview import preview
from claims.services import place_order
from controller.quota_usage import published_keys
from gpu.conditions import ConditionType, condition_of
from gpu.fit import Capacity, Refusal
from gpu.ledger import Ledger
from gpu.resources import ConditionStatus, GPUClass, Mode
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NAMESPACES, NODES, RESOURCE_QUOTAS
from portal.mirror.stock import feed
from tests.builders import a_claim, a_class, a_node, a_quota
from tests.fixtures.live import Live

H100 = "nvidia.com/GH100_H100_SXM5_80GB"
L40S = "nvidia.com/AD102GL_L40S"
VGPU = "nvidia.com/L40S-24Q"
GONE = "nvidia.com/GONE"
KINDS: tuple[Any, ...] = (NAMESPACES, GPU_CLASSES, NODES, RESOURCE_QUOTAS, GPU_CLAIMS)

WORLD = (
    a_class("l40s", resource=L40S),
    a_class("h100", resource=H100, model="H100", max_count=4),
    a_class("vgpu", resource=VGPU, mode=Mode.VGPU, profile="L40S-24Q"),
    a_class("gone", resource=GONE, selector={"pool": "none"}),
    a_node("n1", allocatable={L40S: 4, H100: 8, VGPU: 2}),
    a_node("n2", allocatable={L40S: 4, GONE: 8}),
    a_node("n3", allocatable={L40S: 8}, cordoned=True),
    a_quota({"gpu.cozystack.io/h100": "3", "requests.gpu.cozystack.io/total": "9"}),
    a_quota({"limits.gpu.cozystack.io/h100": "0"}, name="none", namespace="tenant-globex"),
)


def spec(
    class_name: str, count: int, *, namespace: str = "tenant-acme", set_name: str | None = None
) -> OrderSpec:
    return OrderSpec(namespace=namespace, class_name=class_name, count=count, set_name=set_name)


ORDERS: dict[str, tuple[OrderSpec, tuple[str, ...]]] = {
    "one that fits": (spec("l40s", 1), ()),
    "the whole of one node": (spec("l40s", 4), ()),
    "more than any node has": (spec("l40s", 6), ("NoNodeFits",)),
    "more than there is": (spec("l40s", 9), ("NoCapacity",)),
    "more than one VM may take": (spec("vgpu", 2), ("CountAboveMax",)),
    "an offer that does not exist": (spec("nothing", 1), ("ClassNotFound",)),
    "an offer no node serves": (spec("gone", 1), ("NoEligibleNode",)),
    "what exactly fills the class budget": (spec("h100", 3), ()),
    "over the class budget": (spec("h100", 4), ("ClassBudgetExceeded",)),
    "over everything": (
        spec("h100", 10),
        ("CountAboveMax", "NoCapacity", "ClassBudgetExceeded", "TotalBudgetExceeded"),
    ),
    "a forbidden offer": (spec("h100", 1, namespace="tenant-globex"), ("ClassBudgetExceeded",)),
    "no budget at all": (spec("l40s", 4, namespace="tenant-globex"), ()),
    "the rest of a set": (spec("l40s", 2, set_name="pair"), ()),
    "more than the set's node has": (spec("l40s", 3, set_name="pair"), ("SetNodeFull",)),
    "for a set on a node that does not serve": (
        spec("gone", 1, set_name="pair"),
        ("NoEligibleNode", "SetNodeFull"),
    ),
    "a new set": (spec("l40s", 4, set_name="new"), ()),
}


def build(live: Live, *, with_set: bool) -> None:
    """Put the world into the cluster, and wait until the controller has seen all of it."""
    live.put(*WORLD)
    if with_set:
        live.put(a_claim("first", gpus=2, set_name="pair"))
        live.wait_for(lambda: bool(live.claims() and live.claims()[0].status.node_name))
    live.wait_for(lambda: is_settled(live))
    live.sync()


def is_settled(live: Live) -> bool:
    """Say whether every status is what a ledger of the same objects says. Then the controller's own ledger says it too."""
    ledger = ledger_of(live)
    classes = [item.object for item in live.gateway.list_all(GPU_CLASSES).items]
    quotas = [item.object for item in live.gateway.list_all(RESOURCE_QUOTAS).items]
    return all(written_of(one) == said_of(ledger.capacity(one.metadata.name)) for one in classes) and not any(
        published_keys(quota).keys() - quota.status.used.keys() for quota in quotas
    )


def written_of(gpu_class: GPUClass) -> tuple[object, ...]:
    served = condition_of(gpu_class.status.conditions, ConditionType.SERVED)
    is_served = None if served is None else served.status is ConditionStatus.TRUE
    return gpu_class.status.free, gpu_class.status.max_free_per_node, is_served


def said_of(capacity: Capacity) -> tuple[object, ...]:
    return capacity.free, capacity.max_free_per_node, capacity.has_eligible_node


def ledger_of(live: Live) -> Ledger:
    ledger = Ledger()
    for kind in KINDS:
        for item in live.gateway.list_all(kind).items:
            feed(ledger, kind, item.object)
    return ledger


def at_the_first_door(live: Live, order: OrderSpec) -> tuple[Refusal, ...]:
    access, _ = live.acting("hoster")
    return preview(access, order).verdict.refusals


def at_admission(live: Live, order: OrderSpec, *, dry_run: bool) -> tuple[Refusal, ...]:
    access, gateway = live.acting("hoster")
    try:
        place_order(access=access, gateway=gateway, spec=replace(order, name="asked"), dry_run=dry_run)
    except OrderRefused as refused:
        return refused.refusals
    return ()


def at_the_ledger(live: Live, order: OrderSpec) -> tuple[Refusal, ...]:
    return ledger_of(live).check(order.order).refusals


@pytest.mark.parametrize("sentence", ORDERS)
def test_the_same_order_gets_the_same_reasons_at_every_door(governed: Live, sentence: str) -> None:
    order, reasons = ORDERS[sentence]
    build(governed, with_set=order.set_name == "pair")

    first = at_the_first_door(governed, order)
    ledger = at_the_ledger(governed, order)
    dry = at_admission(governed, order, dry_run=True)
    final = at_admission(governed, order, dry_run=False)

    assert tuple(refusal.reason.value for refusal in first) == reasons
    assert first == ledger == dry == final
