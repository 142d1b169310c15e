"""What becomes of holds when nodes are cordoned, go away or come back; and what is published of nodes."""

from __future__ import annotations

import pytest

from gpu.resources import ConditionStatus, GPUClass
from kube.kinds import GPU_CLASSES, GPU_NODES
from tests.controller.cluster import H100, TENANT, Cluster, ready, reason_of
from tests.controller.conftest import Start


async def test_an_unattached_hold_leaves_a_cordoned_node(cluster: Cluster, start: Start) -> None:
    start()
    await cluster.order("train", 2)
    await cluster.until_bound("train")
    await cluster.add_node("n2", 8)
    await cluster.until_free(14)

    await cluster.cordon("n1")

    moved = await cluster.until_claim("train", lambda claim: claim.status.node_name == "n2")
    assert reason_of(moved, "Healthy") == "True Healthy"
    await cluster.until_free(6)


async def test_a_hold_that_is_told_to_stay_stays_and_says_that_it_ails(
    cluster: Cluster, start: Start
) -> None:
    start()
    await cluster.add_node("n2", 8)
    await cluster.add_class("stays", onCordon="Stay")
    await cluster.until_free(16, class_name="stays")
    await cluster.order("train", 2, class_name="stays")
    await cluster.until_bound("train")

    await cluster.cordon("n1")

    cordoned = await cluster.until_claim("train", lambda claim: "NodeCordoned" in reason_of(claim, "Healthy"))
    assert cordoned.status.node_name == "n1"
    await cluster.cordon("n1", unschedulable=False)
    await cluster.until_claim("train", lambda claim: reason_of(claim, "Healthy") == "True Healthy")


async def test_a_running_vm_keeps_its_hold_on_a_cordoned_node_and_leaves_when_it_stops(
    cluster: Cluster, start: Start
) -> None:
    start()
    await cluster.order("train", 2)
    await cluster.until_bound("train")
    pod = await cluster.start_vm("train", "train", node="n1", units=2)
    await cluster.until_claim("train", lambda claim: claim.status.attached_to)
    await cluster.add_node("n2", 8)

    await cluster.cordon("n1")

    cordoned = await cluster.until_claim("train", lambda claim: "NodeCordoned" in reason_of(claim, "Healthy"))
    assert cordoned.status.node_name == "n1"
    await cluster.remove_pod(pod)
    await cluster.until_claim("train", lambda claim: claim.status.node_name == "n2")


async def test_a_set_leaves_a_cordoned_node_together_or_not_at_all(cluster: Cluster, start: Start) -> None:
    start()
    for name in ("a", "b"):
        await cluster.order(name, 2, set_name="vm")
        await cluster.until_bound(name)
    await cluster.add_node("n2", 3)
    await cluster.until_free(7)

    await cluster.cordon("n1")

    for name in ("a", "b"):
        stayed = await cluster.until_claim(name, lambda claim: "NodeCordoned" in reason_of(claim, "Healthy"))
        assert stayed.status.node_name == "n1"
    await cluster.add_node("n3", 4)
    for name in ("a", "b"):
        await cluster.until_claim(name, lambda claim: claim.status.node_name == "n3")


@pytest.mark.parametrize("how", ["gone", "not ready"])
async def test_unattached_holds_leave_a_node_that_stays_away(
    cluster: Cluster, start: Start, how: str
) -> None:
    start("--node-grace-seconds=1")
    await cluster.order("train", 2)
    await cluster.until_bound("train")
    await cluster.add_node("n2", 8)
    await cluster.until_free(14)

    if how == "gone":
        await cluster.remove_node("n1")
    else:
        await cluster.set_node_status("n1", conditions=ready("Unknown"))

    ailing = await cluster.until_claim("train", lambda claim: "NodeNotReady" in reason_of(claim, "Healthy"))
    assert ailing.status.node_name == "n1", "not before the grace time"
    await cluster.until_claim("train", lambda claim: claim.status.node_name == "n2")


async def test_a_hold_whose_node_is_gone_waits_keeps_its_place_and_gets_the_next_one(
    cluster: Cluster, start: Start
) -> None:
    start("--node-grace-seconds=0")
    await cluster.order("first", 2)
    await cluster.order("second", 1)
    await cluster.until_bound("second")

    await cluster.remove_node("n1")

    for name in ("first", "second"):
        waiting = await cluster.until_claim(name, lambda claim: not claim.status.node_name)
        assert reason_of(waiting, "Bound") == "False NodeGone"
    await cluster.add_node("n2", 2)
    await cluster.until_bound("first")
    assert not (await cluster.claim("second")).status.node_name, "first come, first served"
    await cluster.add_node("n3", 1)
    assert (await cluster.until_bound("second")).status.node_name == "n3"
    await cluster.until_free(0)


async def test_a_younger_claim_does_not_overtake_one_that_waits_for_more(
    cluster: Cluster, start: Start
) -> None:
    start("--node-grace-seconds=0")
    await cluster.order("big", 4)
    await cluster.order("small", 1)
    await cluster.until_bound("small")
    await cluster.remove_node("n1")
    await cluster.until_claim("big", lambda claim: not claim.status.node_name)
    await cluster.until_claim("small", lambda claim: not claim.status.node_name)

    await cluster.add_node("n2", 3)
    await cluster.add_node("n3", 4)

    assert (await cluster.until_bound("big")).status.node_name == "n3"
    assert (await cluster.until_bound("small")).status.node_name == "n2"


async def test_a_plugin_that_restarts_costs_nobody_a_hold(cluster: Cluster, start: Start) -> None:
    start()
    await cluster.order("train", 4)
    await cluster.until_bound("train")

    await cluster.set_node_status("n1", allocatable={H100: "0"})

    ailing = await cluster.until_claim("train", lambda claim: "OverCommitted" in reason_of(claim, "Healthy"))
    assert ailing.status.node_name == "n1"
    await cluster.until_free(0)
    await cluster.set_node_status("n1", allocatable={H100: "8"})
    await cluster.until_claim("train", lambda claim: reason_of(claim, "Healthy") == "True Healthy")
    await cluster.until_free(4)


async def test_a_node_is_published_with_what_kubelet_counts_and_goes_with_its_node(
    cluster: Cluster, start: Start
) -> None:
    start()
    published = await cluster.until_gpu_node("n1", lambda gpu_node: gpu_node.status.resources)
    assert [(r.name, r.capacity, r.allocatable) for r in published.status.resources] == [(H100, 8, 8)]
    device = {
        "id": "0000:01:00.0",
        "resourceName": H100,
        "model": "H100",
        "allocatable": 7,
        "health": "Healthy",
    }

    await cluster.gateway.patch(GPU_NODES, "n1", {"status": {"devices": [device]}}, subresource="status")

    found = await cluster.until_gpu_node(
        "n1", lambda seen: any(c.status is ConditionStatus.FALSE for c in seen.status.conditions)
    )
    assert [found_device.id for found_device in found.status.devices] == ["0000:01:00.0"]
    await cluster.remove_node("n1")
    await cluster.until_gone(GPU_NODES, "n1")


async def test_a_class_says_why_no_node_serves_it(cluster: Cluster, start: Start) -> None:
    start()
    await cluster.add_class("elsewhere", nodeSelector={"gpu": "l40s"})
    unserved = await cluster.until_class("elsewhere", lambda found: found.status.conditions)
    assert (unserved.status.free, unserved.status.max_free_per_node) == (0, 0)
    served = {condition.type: condition.reason for condition in unserved.status.conditions}
    assert served["Served"] == "NoNodeMatches"

    await cluster.add_class("twin")

    twin = await cluster.until_class("twin", _overlaps)
    shared = next(c for c in twin.status.conditions if c.type == "SourceUnshared")
    assert "h100" in shared.message
    await cluster.until_class("h100", _overlaps)


async def test_lowering_the_limit_of_an_offer_drops_no_hold(cluster: Cluster, start: Start) -> None:
    start()
    await cluster.order("train", 4)
    await cluster.until_bound("train")

    await cluster.gateway.patch(GPU_CLASSES, "h100", {"spec": {"maxCount": 2}})

    changed = await cluster.until_claim("train", lambda claim: "ClassChanged" in reason_of(claim, "Healthy"))
    assert changed.status.node_name == "n1"
    assert changed.metadata.namespace == TENANT


def _overlaps(gpu_class: GPUClass) -> bool:
    return any(condition.reason == "OverlapsWith" for condition in gpu_class.status.conditions)
