"""Writes that meet other writes, one at a time and on purpose."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from controller.fenced import FencedGateway
from controller.leader import Leadership, LeaseTimes
from gpu.resources import GPUClaimStatus, to_json
from kube import config
from kube.aio import AsyncGateway
from kube.errors import Conflict
from kube.kinds import GPU_CLAIMS
from tests.controller.cluster import H100, TENANT, Cluster
from tests.kube.servers import RunningServer
from tests.system.conftest import Start
from tests.system.proxy import Faults, fault_proxy


async def test_a_status_that_was_computed_from_an_older_version_is_not_written(
    own_server: RunningServer,
) -> None:
    async with AsyncGateway.connect(config.load(own_server.kubeconfig)) as gateway:
        cluster = Cluster(gateway)
        await cluster.add_tenant()
        decided_on = await cluster.order("train")
        await gateway.patch(
            GPU_CLAIMS, "train", {"status": {"nodeName": "n1"}}, namespace=TENANT, subresource="status"
        )
        leadership = Leadership(gateway, namespace="gpu-portal-system", identity="x", times=LeaseTimes())
        await leadership.acquire()

        leader = FencedGateway(gateway, leadership)
        status = GPUClaimStatus(node_name="n2")
        with pytest.raises(Conflict):
            await leader.replace_status(GPU_CLAIMS, decided_on.metadata, status)
        with pytest.raises(Conflict):
            await leader.patch(
                GPU_CLAIMS,
                "train",
                {"status": to_json(status)},
                resource_version=decided_on.metadata.resource_version,
                namespace=TENANT,
                subresource="status",
            )

        assert (await cluster.claim("train")).status.node_name == "n1"


async def test_a_refusal_by_a_kubelet_survives_a_write_that_failed(
    own_server: RunningServer, tmp_path: Path, start: Start
) -> None:
    found = config.load(own_server.kubeconfig)
    async with AsyncGateway.connect(found) as gateway, fault_proxy(found, tmp_path / "proxy") as proxy:
        cluster = Cluster(gateway)
        await cluster.add_tenant()
        await cluster.add_node("n1", 8)
        await cluster.add_class()
        await asyncio.to_thread(start, proxy)
        await cluster.until_free(8)
        await cluster.order("train", 2)
        await cluster.until_bound("train")
        await cluster.until_free(6)
        await cluster.add_node("n2", 8)
        await cluster.until_free(14)

        proxy.faults = Faults(conflicts=1.0, conflicts_at="/gpuclaims/train/status")
        pod = await cluster.start_vm("train", "train", node="n1", units=2, resource=H100)
        await cluster.set_pod_status(pod, phase="Failed", reason="UnexpectedAdmissionError")
        async with asyncio.timeout(10):
            while proxy.counts["conflicts"] < 6:  # the refusal is written first, once it is known
                await asyncio.sleep(0.01)
        proxy.heal()

        refused = await cluster.until_claim("train", lambda claim: claim.status.refused_nodes)
        assert [entry.node_name for entry in refused.status.refused_nodes] == ["n1"]
        await cluster.until_claim("train", lambda claim: claim.status.node_name == "n2")
