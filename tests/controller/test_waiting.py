"""Who waits for a node, and who may go before whom."""

from __future__ import annotations

from kube.kinds import GPU_CLAIMS, NODES
from tests.controller.cluster import TENANT, Cluster
from tests.controller.desk import desk


async def _node(cluster: Cluster, name: str) -> str | None:
    return (await cluster.claim(name)).status.node_name


async def _set_node(cluster: Cluster, name: str, node: str) -> None:
    """Write the node as a leader before would have, or a person."""
    change = {"status": {"nodeName": node}}
    await cluster.gateway.patch(GPU_CLAIMS, name, change, namespace=TENANT, subresource="status")


async def test_who_got_a_node_from_elsewhere_holds_nobody_up(cluster: Cluster) -> None:
    await cluster.cordon("n1")
    for name in ("old", "young"):
        await cluster.order(name)
    async with desk(cluster.gateway) as leader:
        await leader.learn()
        await _set_node(cluster, "old", "n1")
        await leader.learn(GPU_CLAIMS)
        await cluster.add_node("n2")

        await leader.learn(NODES)

        assert await _node(cluster, "young") == "n2"
