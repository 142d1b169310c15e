"""The controller works with what deploy/rbac grants it, and uses all of that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kube import config
from kube.aio import AsyncGateway
from kube.errors import Denied
from kube.kinds import GPU_CLAIMS, GPU_NODES
from tests.controller.cluster import TENANT, Cluster
from tests.controller.processes import start_controller
from tests.controller.recorder import Recorder, recording, right_of
from tests.controller.rights import CONTROLLER, granted, installed_server
from tests.kube.servers import RunningServer


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    is_real = request.config.getoption("--cluster") == "real"
    with installed_server(tmp_path / "server", is_real=is_real) as server:
        yield server


@pytest.fixture
def recorder(server: RunningServer, tmp_path: Path) -> Iterator[Recorder]:
    with recording(server.kubeconfig_of(CONTROLLER), tmp_path / "recorder") as recorder:
        yield recorder


@pytest.fixture
async def cluster(server: RunningServer) -> AsyncIterator[Cluster]:
    async with AsyncGateway.connect(config.load(server.kubeconfig)) as gateway:
        cluster = Cluster(gateway)
        await cluster.add_tenant()
        await cluster.add_node("n1", 8)
        await cluster.add_node("n2", 8)
        await cluster.add_class("h100")
        await cluster.add_budget({"gpu.cozystack.io/total": 12})
        yield cluster


@pytest.mark.parametrize(
    ("request_line", "right"),
    [
        ("GET /api/v1/nodes?limit=500", ("", "nodes", "list")),
        ("GET /api/v1/nodes?watch=true", ("", "nodes", "watch")),
        ("GET /api/v1/namespaces", ("", "namespaces", "list")),
        ("GET /api/v1/namespaces/a", ("", "namespaces", "get")),
        ("PATCH /api/v1/namespaces/a/resourcequotas/q/status?x=1", ("", "resourcequotas/status", "patch")),
        ("POST /apis/g/v1/namespaces/a/things?dryRun=All", ("g", "things", "create")),
        ("PUT /apis/g/v1/namespaces/a/things/t", ("g", "things", "update")),
        ("DELETE /apis/g/v1/namespaces/a/things", ("g", "things", "deletecollection")),
        ("GET /readyz?x", None),
    ],
)
def test_requests_are_read_as_rbac_reads_them(request_line: str, right: object) -> None:
    method, _, target = request_line.partition(" ")
    path, _, query = target.partition("?")

    assert right_of(method, path, query) == right


async def test_the_controller_uses_each_right_it_has_and_needs_no_other(
    cluster: Cluster, server: RunningServer, recorder: Recorder, tmp_path: Path
) -> None:
    recorder.conflicts = {
        "gpuclaims/status",
        "gpuclasses/status",
        "gpunodes/status",
        "resourcequotas/status",
    }

    class Through:
        kubeconfig = recorder.kubeconfig

    controller = await asyncio.to_thread(start_controller, Through(), tmp_path / "controllers")
    try:
        await cluster.until_free(16)
        await cluster.order("train", 2)
        node = (await cluster.until_bound("train")).status.node_name
        assert node is not None
        with pytest.raises(Denied):
            await cluster.order("more", 9)
        pod = await cluster.start_vm("train", "train", node=node, units=2)
        await cluster.until_claim("train", lambda claim: claim.metadata.finalizers)
        await cluster.until_quota(lambda quota: str(quota.status.used.get("gpu.cozystack.io/total")) == "2")
        await cluster.remove_pod(pod)
        await cluster.release("train")
        await cluster.until_gone(GPU_CLAIMS, "train", namespace=TENANT)
        await cluster.until_gpu_node("n2", lambda gpu_node: gpu_node.status.resources)
        await cluster.remove_node("n2")
        await cluster.until_gone(GPU_NODES, "n2")
    finally:
        await asyncio.to_thread(controller.stop)
    # It listens on another port now, so what it installed before has to be changed.
    controller = await asyncio.to_thread(start_controller, Through(), tmp_path / "controllers")
    await asyncio.to_thread(controller.stop)

    used, has = recorder.seen, granted("gpu-controller")
    assert used - has == set(), "not granted, and done without"
    assert has - used == set(), "granted, and never used"
