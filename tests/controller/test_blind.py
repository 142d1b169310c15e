"""While a watch is broken, nothing is decided on what may not be true any more; once it is mended, everything is."""

from __future__ import annotations

import pytest

from controller.options import Timings
from gpu.fit import Order
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NODES, PODS, AnyKind
from tests.controller.cluster import TENANT, Cluster, ready
from tests.controller.desk import Desk, desk

STALE = Timings.stale_seconds + 1
GRACE = Timings.node_grace_seconds + 1


async def _bound_on_n1(cluster: Cluster, leader: Desk) -> None:
    await cluster.order("train")
    await leader.learn()
    assert await _node(cluster) == "n1"
    await cluster.add_node("n2")
    await leader.learn(NODES)


async def _node(cluster: Cluster, name: str = "train") -> str | None:
    return (await cluster.claim(name)).status.node_name


async def test_a_hold_whose_vm_started_unseen_is_not_moved_away_from_it(cluster: Cluster) -> None:
    async with desk(cluster.gateway) as leader:
        await _bound_on_n1(cluster, leader)
        leader.lose(PODS)
        await cluster.start_vm("vm", "train", node="n1")
        await cluster.cordon("n1")
        await leader.learn(NODES)
        assert await _node(cluster) == "n1"

        await leader.learn(PODS)
        await leader.wait()

        assert await _node(cluster) == "n1"


async def test_holds_do_not_leave_a_node_that_came_back_unseen(cluster: Cluster) -> None:
    async with desk(cluster.gateway) as leader:
        await _bound_on_n1(cluster, leader)
        await cluster.set_node_status("n1", conditions=ready("Unknown"))
        await leader.learn(NODES)
        leader.lose(NODES)
        await cluster.set_node_status("n1", conditions=ready("True"))
        await leader.wait(GRACE)
        assert await _node(cluster) == "n1"

        await leader.learn(NODES)
        await leader.wait()

        assert await _node(cluster) == "n1"


async def test_holds_leave_a_node_that_is_still_away_when_the_watch_is_mended(cluster: Cluster) -> None:
    async with desk(cluster.gateway) as leader:
        await _bound_on_n1(cluster, leader)
        await cluster.set_node_status("n1", conditions=ready("Unknown"))
        await leader.learn(NODES)
        leader.lose(NODES)
        await leader.wait(GRACE)

        await leader.learn(NODES)
        await leader.wait()

        assert await _node(cluster) == "n2"


@pytest.mark.parametrize(
    ("kind", "seconds"), [(PODS, 0), (GPU_CLASSES, STALE)], ids=["pods", "any, for long"]
)
async def test_what_a_broken_watch_put_off_is_done_once_it_is_mended(
    cluster: Cluster, kind: AnyKind, seconds: float
) -> None:
    async with desk(cluster.gateway) as leader:
        await _bound_on_n1(cluster, leader)
        leader.lose(kind)
        await leader.wait(seconds)
        await cluster.cordon("n1")
        await leader.learn(NODES)
        assert await _node(cluster) == "n1"

        await leader.learn(kind)
        await leader.wait()

        assert await _node(cluster) == "n2"


async def test_who_waits_is_placed_by_a_picture_that_is_known_only(cluster: Cluster) -> None:
    await cluster.cordon("n1")
    await cluster.order("train")
    async with desk(cluster.gateway) as leader:
        await leader.learn()
        leader.lose(GPU_CLASSES)
        await leader.wait(STALE)
        await cluster.cordon("n1", unschedulable=False)
        await leader.learn(NODES)
        assert await _node(cluster) is None

        await leader.learn(GPU_CLASSES)
        await leader.wait()

        assert await _node(cluster) == "n1"


async def test_an_order_that_was_admitted_before_is_bound_all_the_same(cluster: Cluster) -> None:
    async with desk(cluster.gateway) as leader:
        await leader.learn()
        claim = await cluster.order("train")
        assert leader.ledger.reserve(claim.metadata.uid, Order(TENANT, "h100", 1), expires_at=100).ok
        leader.lose(GPU_CLASSES)
        await leader.wait(STALE)

        await leader.learn(GPU_CLAIMS)

        assert await _node(cluster) == "n1"
