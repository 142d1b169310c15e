from __future__ import annotations

import asyncio

import pytest

from controller import lanes
from controller.lanes import Lanes
from controller.leader import LeaseLost
from controller.pace import Pace
from kube.errors import Conflict, Unavailable


class Work:
    """Records what runs, holds each run until it is let go, fails as told."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.running: set[str] = set()
        self.gate = asyncio.Event()
        self.gate.set()
        self.failures: list[Exception] = []
        self.on_start = asyncio.Event()

    async def __call__(self, key: str) -> None:
        assert key not in self.running, "two runs of one key at a time"
        self.running.add(key)
        self.started.append(key)
        self.on_start.set()
        try:
            await self.gate.wait()
            if self.failures:
                raise self.failures.pop(0)
        finally:
            self.running.discard(key)

    async def until_started(self, count: int) -> None:
        while len(self.started) < count:
            self.on_start.clear()
            await self.on_start.wait()


async def test_keys_run_side_by_side_and_each_in_order() -> None:
    work = Work()
    work.gate.clear()

    async with asyncio.TaskGroup() as tasks:
        lane = Lanes("test", work, tasks=tasks)
        for key in ("a", "b", "a", "a"):
            lane.push(key)
        await work.until_started(2)
        assert work.running == {"a", "b"}
        lane.push("a")
        work.gate.set()

    assert sorted(work.started) == ["a", "a", "b"], "pushes while running lead to one more run"


async def test_no_more_than_the_width_run_together() -> None:
    work = Work()
    work.gate.clear()

    async with asyncio.TaskGroup() as tasks:
        lane = Lanes("test", work, tasks=tasks, width=2)
        for key in ("a", "b", "c"):
            lane.push(key)
        await work.until_started(2)
        assert len(work.running) == 2
        work.gate.set()

    assert sorted(work.started) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "failure",
    [Unavailable("down"), Conflict("other version", code=409), ValueError("odd object")],
    ids=["unavailable", "conflict", "bug"],
)
async def test_what_fails_is_looked_at_again(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "FIRST_RETRY_SECONDS", 0.001)
    work = Work()
    work.failures = [failure, failure]

    async with asyncio.TaskGroup() as tasks:
        Lanes("test", work, tasks=tasks).push("a")

    assert work.started == ["a", "a", "a"]


async def test_a_lost_lease_ends_the_work() -> None:
    work = Work()
    work.failures = [LeaseLost("not ours")]

    async with asyncio.TaskGroup() as tasks:
        lane = Lanes("test", work, tasks=tasks)
        lane.push("a")

    assert work.started == ["a"]
    assert len(lane) == 0


async def test_one_key_runs_no_more_often_than_its_interval() -> None:
    work = Work()
    loop = asyncio.get_running_loop()
    before = loop.time()

    async with asyncio.TaskGroup() as tasks:
        lane = Lanes("test", work, tasks=tasks, interval_seconds=0.05)
        lane.push("a")
        await work.until_started(1)
        lane.push("a")
        await work.until_started(2)
        assert loop.time() - before >= 0.05

    assert work.started == ["a", "a"]


async def test_keys_that_are_all_wanted_share_the_runs_of_a_second() -> None:
    work = Work()
    loop = asyncio.get_running_loop()

    async with asyncio.TaskGroup() as tasks:
        pace = Pace(rush=100, lasting=100, allowance=0, round_seconds=1, clock=loop.time)
        lane = Lanes("test", work, tasks=tasks, width=1, pace=pace)
        before = loop.time()
        for key in "abcdefgh":
            lane.push(key)
        await work.until_started(8)
        for key in "abcdefgh":
            lane.push(key)
        await work.until_started(16)
        took = loop.time() - before

    assert sorted(work.started) == sorted("abcdefgh" * 2)
    assert took >= 0.08  # eight keys, a hundred runs a second


def test_the_pause_doubles_and_is_never_shorter_than_asked_for() -> None:
    assert 0.025 <= lanes.retry_seconds(0) <= 0.05
    assert 0.4 <= lanes.retry_seconds(4) <= 0.8
    assert lanes.retry_seconds(1000) <= lanes.LAST_RETRY_SECONDS
    assert lanes.retry_seconds(0, asked_for=7) >= 7
