"""Sets that have come apart: they gather again, or stay as they are, and come to rest either way."""

from __future__ import annotations

import pytest

from controller.options import Timings
from gpu.resources import GPUClaim
from kube.kinds import GPU_CLAIMS, NODES, PODS
from tests.controller.cluster import H100, TENANT, Cluster, ready
from tests.controller.desk import desk


async def _hold(cluster: Cluster, name: str, node: str) -> GPUClaim:
    """Have a claim of the set "vm" bound, as a leader before would have left it."""
    await cluster.order(name, set_name="vm")
    change = {"status": {"nodeName": node}}
    return (
        await cluster.gateway.patch(GPU_CLAIMS, name, change, namespace=TENANT, subresource="status")
    ).object


async def _nodes(cluster: Cluster) -> dict[str, str | None]:
    return {name: claim.status.node_name for name, claim in sorted((await cluster.claims()).items())}


async def test_a_set_whose_nodes_are_one_too_small_gathers_on_the_other(cluster: Cluster) -> None:
    await cluster.resize(n1=1, n2=2, n3=2, n4=2)
    await _hold(cluster, "x", "n2")
    await _hold(cluster, "y", "n1")

    async with desk(cluster.gateway) as leader:
        await leader.learn()

        assert await _nodes(cluster) == {"x": "n2", "y": "n2"}
        assert leader.ledger.decisions() == {}


async def test_a_set_that_no_node_of_its_own_has_room_for_gathers_elsewhere(cluster: Cluster) -> None:
    await cluster.resize(n1=1, n2=1, n3=2)
    await _hold(cluster, "x", "n2")
    await _hold(cluster, "y", "n1")

    async with desk(cluster.gateway) as leader:
        await leader.learn()

        assert await _nodes(cluster) == {"x": "n3", "y": "n3"}


async def test_a_set_that_nothing_has_room_for_stays_apart_and_gathers_once_there_is_some(
    cluster: Cluster,
) -> None:
    await cluster.resize(n1=1, n2=1)
    await _hold(cluster, "x", "n2")
    await _hold(cluster, "y", "n1")
    async with desk(cluster.gateway) as leader:
        await leader.learn()
        assert await _nodes(cluster) == {"x": "n2", "y": "n1"}
        await cluster.set_node_status("n1", allocatable={H100: "8"})
        await leader.learn(NODES)

        await leader.wait()

        assert await _nodes(cluster) == {"x": "n1", "y": "n1"}


async def test_a_claim_that_is_being_released_elsewhere_calls_nobody_to_its_node(cluster: Cluster) -> None:
    await cluster.resize(n1=4, n2=4, n3=4)
    await _hold(cluster, "x", "n1")
    await _hold(cluster, "y", "n1")
    await cluster.gateway.patch(
        GPU_CLAIMS, "x", {"metadata": {"finalizers": ["example.com/hook"]}}, namespace=TENANT
    )
    await cluster.release("x")
    await cluster.cordon("n1")

    async with desk(cluster.gateway) as leader:
        await leader.learn()

        assert await _nodes(cluster) == {"x": "n1", "y": "n2"}


@pytest.mark.parametrize("is_late", [False, True], ids=["room from the start", "room later"])
async def test_the_rest_of_a_set_leaves_a_node_that_is_away_after_the_vm_that_kept_it(
    cluster: Cluster, is_late: bool
) -> None:
    for name in ("x", "y"):
        await _hold(cluster, name, "n1")
    pod = await cluster.start_vm("vm", "x", node="n1")
    async with desk(cluster.gateway) as leader:
        await leader.learn()
        await cluster.set_node_status("n1", conditions=ready("Unknown"))
        if not is_late:
            await cluster.add_node("n2", 8)
        await leader.learn(NODES)
        await leader.wait(Timings.node_grace_seconds)
        assert await _nodes(cluster) == {"x": "n1", "y": "n1"}, "a VM runs with it"
        await cluster.remove_pod(pod)

        await leader.learn(PODS)
        await leader.wait()
        if is_late:
            assert await _nodes(cluster) == {"x": None, "y": None}
            await cluster.add_node("n2", 8)
            await leader.learn(NODES)

        assert await _nodes(cluster) == {"x": "n2", "y": "n2"}


async def test_a_set_that_waits_for_room_elsewhere_leaves_a_cordoned_node_when_there_is_some(
    cluster: Cluster,
) -> None:
    for name in ("x", "y"):
        await _hold(cluster, name, "n1")
    await cluster.cordon("n1")
    async with desk(cluster.gateway) as leader:
        await leader.learn()
        await cluster.add_node("n2", 8)
        await leader.learn(NODES)

        await leader.wait()

        assert await _nodes(cluster) == {"x": "n2", "y": "n2"}
