"""A controller process that ends with its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.controller.processes import Cluster, RunningController, start_controller

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
