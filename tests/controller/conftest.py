"""A controller that leads on an API server of the test's own, of the kind that --cluster says."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from kube import config
from kube.aio import AsyncGateway
from tests.controller.cluster import Cluster
from tests.controller.processes import Cluster as Reached
from tests.controller.processes import RunningController, start_controller
from tests.controller.wiping import wipe
from tests.kube.servers import RunningServer, start_dev_server, start_real_server

Start = Callable[..., RunningController]


@pytest.fixture(scope="session")
def wiped_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One real server for the tests that leave its processes alone: it is emptied for each."""
    server = start_real_server(tmp_path_factory.mktemp("wiped-server"))
    yield server
    server.kill()


@pytest.fixture
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    """An empty API server of the kind that --cluster says. A test that names this fixture itself may stop and kill it."""
    is_real = request.config.getoption("--cluster") == "real"
    if is_real and "own_server" not in inspect.signature(request.function).parameters:
        server: RunningServer = request.getfixturevalue("wiped_server")
        wipe(server)
        yield server
        return
    server = (start_real_server if is_real else start_dev_server)(tmp_path / "server")
    yield server
    server.kill()


@pytest.fixture
def start(own_server: RunningServer, tmp_path: Path) -> Iterator[Start]:
    """Start controllers against the test's server; all are ended with the test."""
    started: list[RunningController] = []

    def start_one(
        *arguments: str, identity: str = "controller", wait: bool = True, through: Reached = own_server
    ) -> RunningController:
        controller = start_controller(
            through, tmp_path / "controllers", *arguments, identity=identity, wait=wait
        )
        started.append(controller)
        return controller

    yield start_one
    for controller in started:
        controller.kill()


@pytest.fixture
def controller(start: Start) -> RunningController:
    return start()


@pytest.fixture
async def gateway(own_server: RunningServer) -> AsyncIterator[AsyncGateway]:
    async with AsyncGateway.connect(config.load(own_server.kubeconfig)) as gateway:
        yield gateway


@pytest.fixture
async def cluster(gateway: AsyncGateway) -> Cluster:
    """A tenant, one node with 8 units, and an offer of them."""
    cluster = Cluster(gateway)
    await cluster.add_tenant()
    await cluster.add_node("n1", 8)
    await cluster.add_class("h100")
    return cluster
