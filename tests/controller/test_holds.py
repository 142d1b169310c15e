"""A hold through the life of its VM: attached, stopped, released, refused by a kubelet."""

from __future__ import annotations

import pytest

from gpu.resources import RELEASE_FINALIZER
from kube.errors import Denied
from kube.kinds import GPU_CLAIMS
from tests.controller.cluster import TENANT, Cluster, reason_of

pytestmark = pytest.mark.usefixtures("controller")


async def test_a_vm_that_stops_does_not_lose_its_units(cluster: Cluster) -> None:
    await cluster.order("train", 8)
    await cluster.until_bound("train")
    pod = await cluster.start_vm("train", "train", node="n1", units=8)
    running = await cluster.until_claim("train", lambda claim: claim.status.attached_to)
    assert running.status.attached_to is not None
    assert (running.status.attached_to.kind, running.status.attached_to.name) == (
        "VirtualMachineInstance",
        "train",
    )
    assert reason_of(running, "Attached") == "True VirtualMachineRunning"

    await cluster.remove_pod(pod)

    stopped = await cluster.until_claim("train", lambda claim: not claim.status.attached_to)
    assert reason_of(stopped, "Attached") == "False VirtualMachineOff"
    assert (stopped.status.node_name, stopped.status.bound_at) == ("n1", running.status.bound_at)
    with pytest.raises(Denied):
        await cluster.order("serve")


async def test_a_launcher_never_counts_twice_and_a_stranger_counts(cluster: Cluster) -> None:
    await cluster.order("train", 2)
    await cluster.until_bound("train")

    await cluster.start_vm("train", "train", node="n1", units=2)
    await cluster.start_vm("bypass", node="n1", units=3)

    await cluster.until_free(3)


async def test_a_release_waits_for_the_vm_and_then_goes_through(cluster: Cluster) -> None:
    await cluster.order("train", 8)
    await cluster.until_bound("train")
    pod = await cluster.start_vm("train", "train", node="n1", units=8)
    await cluster.until_claim("train", lambda claim: claim.status.attached_to)

    await cluster.release("train")

    releasing = await cluster.claim("train")
    assert releasing.is_releasing
    assert releasing.metadata.finalizers == [RELEASE_FINALIZER]
    with pytest.raises(Denied):
        await cluster.order("serve")
    await cluster.remove_pod(pod)
    await cluster.until_gone(GPU_CLAIMS, "train", namespace=TENANT)
    await cluster.until_free(8)


async def test_a_release_with_the_vm_off_is_done_at_once(cluster: Cluster) -> None:
    await cluster.order("train")
    await cluster.until_bound("train")
    pod = await cluster.start_vm("train", "train", node="n1")
    await cluster.until_claim("train", lambda claim: claim.metadata.finalizers)
    await cluster.remove_pod(pod)
    await cluster.until_claim("train", lambda claim: not claim.metadata.finalizers)

    await cluster.release("train")

    assert await cluster.claims() == {}


async def test_a_missing_node_does_not_block_a_release(cluster: Cluster) -> None:
    await cluster.order("train")
    await cluster.until_bound("train")
    pod = await cluster.start_vm("train", "train", node="n1")
    await cluster.until_claim("train", lambda claim: claim.metadata.finalizers)
    await cluster.release("train")

    await cluster.remove_node("n1")
    await cluster.remove_pod(pod)

    await cluster.until_gone(GPU_CLAIMS, "train", namespace=TENANT)


@pytest.mark.parametrize("reason", ["UnexpectedAdmissionError", f"OutOf{'nvidia.com/gpu'}"])
async def test_a_node_whose_kubelet_refuses_the_vm_is_left_by_the_whole_set(
    cluster: Cluster, reason: str
) -> None:
    await cluster.add_node("n2", 9)
    await cluster.until_free(17)
    for name in ("a", "b"):
        await cluster.order(name, 1, set_name="vm")
        assert (await cluster.until_bound(name)).status.node_name == "n1"
    pod = await cluster.start_vm("vm", "a", "b", node="n1", units=2)

    await cluster.set_pod_status(pod, phase="Failed", reason=reason)

    for name in ("a", "b"):
        claim = await cluster.until_claim(name, lambda claim: claim.status.node_name == "n2")
        (refused,) = claim.status.refused_nodes
        assert (refused.node_name, refused.reason) == ("n1", reason)


async def test_a_refusal_with_nowhere_else_to_go_waits(cluster: Cluster) -> None:
    await cluster.order("train")
    await cluster.until_bound("train")
    pod = await cluster.start_vm("train", "train", node="n1")

    await cluster.set_pod_status(pod, phase="Failed", reason="UnexpectedAdmissionError")

    waiting = await cluster.until_claim("train", lambda claim: not claim.status.node_name)
    assert reason_of(waiting, "Bound") == "False NodeRefused"
    await cluster.until_free(7)
    await cluster.add_node("n2", 2)
    assert (await cluster.until_bound("train")).status.node_name == "n2"


async def test_a_pending_launcher_is_no_refusal(cluster: Cluster) -> None:
    await cluster.order("train")
    await cluster.until_bound("train")
    pod = await cluster.start_vm("train", "train", node="n1")
    await cluster.until_claim("train", lambda claim: claim.status.attached_to)

    await cluster.set_pod_status(pod, phase="Failed", reason="Evicted")

    claim = await cluster.until_claim("train", lambda claim: not claim.status.attached_to)
    assert claim.status.node_name == "n1"
    assert claim.status.refused_nodes == []


async def test_a_status_somebody_tampered_with_is_put_right(cluster: Cluster) -> None:
    await cluster.order("train")
    await cluster.until_bound("train")

    await cluster.gateway.patch(
        GPU_CLAIMS,
        "train",
        {
            "status": {
                "attachedTo": {"kind": "VirtualMachineInstance", "name": "x", "uid": "y"},
                "conditions": None,
            }
        },
        namespace=TENANT,
        subresource="status",
    )

    claim = await cluster.until_claim(
        "train", lambda claim: not claim.status.attached_to and claim.status.conditions
    )
    assert reason_of(claim, "Bound") == "True Allocated"
