"""The controller on the demo's cluster, with the rights that are shipped for it and no others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kube import config
from kube.aio import AsyncGateway
from kube.gateway import Gateway
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, GPU_NODES
from tests.controller.cluster import Cluster
from tests.controller.processes import RunningController, start_controller
from tests.kube.servers import RunningServer, start_dev_server
from tools import demo

USER = "gpu-controller"


@dataclass(frozen=True)
class AsController:
    """The server as the controller's own user sees it."""

    kubeconfig: Path


@pytest.fixture
def demo_server(tmp_path: Path) -> Iterator[RunningServer]:
    with start_dev_server(tmp_path / "demo", users=[USER]) as server:
        gateway = Gateway.connect(config.load(server.kubeconfig))
        folders = (demo.DEPLOY / "rbac", demo.DEPLOY / "demo")
        demo.load(gateway, *folders, now=datetime.now(UTC))
        gateway.close()
        yield server


@pytest.fixture
async def cluster(demo_server: RunningServer) -> AsyncIterator[Cluster]:
    async with AsyncGateway.connect(config.load(demo_server.kubeconfig)) as gateway:
        yield Cluster(gateway)


@pytest.fixture
def controller(demo_server: RunningServer, tmp_path: Path) -> Iterator[RunningController]:
    controller = start_controller(AsController(demo_server.kubeconfig_of(USER)), tmp_path / "controller")
    yield controller
    controller.stop()


async def test_every_hold_of_the_demo_stays_where_it_is_and_every_offer_knows_what_is_free(
    cluster: Cluster, demo_server: RunningServer, tmp_path: Path
) -> None:
    before = [item.object for item in (await cluster.gateway.list_all(GPU_CLAIMS)).items]
    assert before

    controller = start_controller(AsController(demo_server.kubeconfig_of(USER)), tmp_path / "controller")

    for gpu_class in (await cluster.gateway.list_all(GPU_CLASSES)).items:
        await cluster.until_class(gpu_class.object.metadata.name, lambda found: found.status.free is not None)
    for gpu_node in (await cluster.gateway.list_all(GPU_NODES)).items:
        await cluster.until_gpu_node(gpu_node.object.metadata.name, lambda found: found.status.conditions)
    for claim in before:
        after = await cluster.until(
            GPU_CLAIMS,
            claim.metadata.name,
            lambda found: found.status.conditions,
            namespace=claim.metadata.namespace,
        )
        assert claim.status.node_name in (None, after.status.node_name)
    await asyncio.to_thread(controller.stop)
    assert "error" not in controller.log.read_text()
    assert "warning" not in controller.log.read_text()


async def test_the_shipped_rights_are_enough_for_the_whole_life_of_a_claim(
    cluster: Cluster, controller: RunningController
) -> None:
    await cluster.add_tenant("tenant-acme-new", "tenant-acme")
    await cluster.add_node("extra", 3, resource="example.com/gpu")
    await cluster.add_class("extra", resource="example.com/gpu")
    await cluster.until_free(3, class_name="extra")

    await cluster.order("train", 2, class_name="extra")
    await cluster.until_bound("train")
    pod = await cluster.start_vm("train", "train", node="extra", units=2, resource="example.com/gpu")
    await cluster.until_claim("train", lambda claim: claim.metadata.finalizers and claim.status.attached_to)
    await cluster.release("train")
    await cluster.remove_pod(pod)
    await cluster.until_free(3, class_name="extra")
    await cluster.remove_node("extra")
    await cluster.until_gone(GPU_NODES, "extra")

    assert "Forbidden" not in controller.log.read_text()
    assert "warning" not in controller.log.read_text()
