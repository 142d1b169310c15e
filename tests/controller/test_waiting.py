"""Who waits for a node, and who may go before whom."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from gpu.resources import to_json
from kube.kinds import GPU_CLAIMS, NODES
from tests.builders import NOON, refusal_of
from tests.controller.cluster import TENANT, Cluster
from tests.controller.desk import desk


async def _node(cluster: Cluster, name: str) -> str | None:
    return (await cluster.claim(name)).status.node_name


async def _set_status(cluster: Cluster, name: str, **status: Any) -> None:
    """Write it as a leader before would have, or a person."""
    change = {"status": status}
    await cluster.gateway.patch(GPU_CLAIMS, name, change, namespace=TENANT, subresource="status")


async def test_who_got_a_node_from_elsewhere_holds_nobody_up(cluster: Cluster) -> None:
    await cluster.cordon("n1")
    for name in ("old", "young"):
        await cluster.order(name)
    async with desk(cluster.gateway) as leader:
        await leader.learn()
        await _set_status(cluster, "old", nodeName="n1")
        await leader.learn(GPU_CLAIMS)
        await cluster.add_node("n2")

        await leader.learn(NODES)

        assert await _node(cluster, "young") == "n2"


async def test_who_waits_for_the_full_node_of_its_set_holds_nobody_up(cluster: Cluster) -> None:
    await cluster.order("a-vm", 8, set_name="vm")
    await _set_status(cluster, "a-vm", nodeName="n1")
    await cluster.order("b-vm", 1, set_name="vm")
    await cluster.order("c", 2)
    async with desk(cluster.gateway) as leader:
        await leader.learn()
        assert [await _node(cluster, name) for name in ("b-vm", "c")] == [None, None]
        await cluster.add_node("n2")

        await leader.learn(NODES)

        assert [await _node(cluster, name) for name in ("b-vm", "c")] == [None, "n2"]


async def test_whose_only_room_is_a_node_that_refused_it_holds_nobody_up(cluster: Cluster) -> None:
    await cluster.order("a")
    refused = to_json(refusal_of("n1", until=NOON + timedelta(seconds=100)))
    await _set_status(cluster, "a", refusedNodes=[refused])
    await cluster.order("b")
    async with desk(cluster.gateway) as leader:
        await leader.learn()
        assert [await _node(cluster, name) for name in ("a", "b")] == [None, "n1"]

        await leader.wait(100)

        assert await _node(cluster, "a") == "n1"


async def test_who_was_refused_by_a_node_that_has_too_little_anyway_keeps_its_place_before_the_others(
    cluster: Cluster,
) -> None:
    await cluster.resize(n1=1)
    await cluster.order("a", 2)
    refused = to_json(refusal_of("n1", until=NOON + timedelta(seconds=100)))
    await _set_status(cluster, "a", refusedNodes=[refused])
    await cluster.order("b")
    async with desk(cluster.gateway) as leader:
        await leader.learn()

        assert [await _node(cluster, name) for name in ("a", "b")] == [None, None]
