"""A controller process that ends with its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kube.kinds import NAMESPACES
from tests.controller.processes import Cluster, RunningController, start_controller
from tests.system.stage import ACME, CHILD, Stage

Start = Callable[..., RunningController]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start controllers against a server, or against a way to one; all are ended with the test."""
    started: list[RunningController] = []

    def start_one(server: Cluster, *arguments: str) -> RunningController:
        controller = start_controller(server, tmp_path / "controllers", *arguments)
        started.append(controller)
        return controller

    yield start_one
    for controller in started:
        controller.kill()


@pytest.fixture
def stage() -> Stage:
    """One node with four units, one offer, a tenant with a child, and time for all of it to be known."""
    stage = Stage()
    for name, lineage in ((ACME, [ACME]), (CHILD, [ACME, CHILD])):
        labels = {f"tenant.cozystack.io/{above}": "" for above in lineage}
        stage.tell(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
    stage.node()
    stage.offer()
    stage.wait(10)
    return stage
