"""A server that says when to come back is left alone until then."""

from __future__ import annotations

import asyncio
import time

from controller.lanes import Lanes
from kube.errors import Unavailable


async def test_work_is_not_tried_again_before_the_server_wants_it() -> None:
    started: list[float] = []

    async def work(key: str) -> None:
        started.append(time.monotonic())
        if len(started) == 1:
            raise Unavailable("slow down", code=429, retry_after_seconds=1)

    async with asyncio.TaskGroup() as tasks:
        Lanes("test", work, tasks=tasks).push("a")

    assert started[1] - started[0] >= 1
