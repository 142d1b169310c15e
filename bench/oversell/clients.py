"""64 clients and a timetable: jobs start when they are due, not when the one before is done.

A job that finds every client busy waits, and its waiting counts: latencies start from when it was due.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import Final

Job = Callable[[float], Awaitable[None]]
"""Told when it was due."""

CLIENTS: Final = 64


class Clients:
    """Runs jobs at their time. ``arrivals`` come at a fixed average rate, whether the clients keep up or not."""

    def __init__(self, *, random: Random, clients: int = CLIENTS) -> None:
        self._random = random
        self._clients = clients
        self._rates: list[tuple[float, Job]] = []
        self._timetable: list[tuple[float, int, Job, float]] = []
        self._numbers = itertools.count()
        self._due: asyncio.Queue[tuple[float, Job]] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._open = asyncio.Event()

    def arrivals(self, per_second: float, job: Job) -> None:
        """Have a job arrive so often on average, from the next opening on."""
        if per_second > 0:
            self._rates.append((per_second, job))

    def at(self, due_at: float, job: Job) -> None:
        """Have a job done once."""
        self._push(due_at, job, 0.0)

    def open(self) -> None:
        """Start arrivals, at the first time and after a break."""
        now = time.monotonic()
        for per_second, job in self._rates:
            self._push(now + self._pause(per_second), job, per_second)
        self._open.set()

    async def close(self) -> None:
        """Stop arrivals and wait until what was due is done. What was timed for later stays timed."""
        self._open.clear()
        self._timetable = [entry for entry in self._timetable if not entry[3]]
        heapq.heapify(self._timetable)
        await self._due.join()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._clients):
                tasks.create_task(self._work())
            while True:
                await self._open.wait()
                await self._dispatch()

    async def _dispatch(self) -> None:
        now = time.monotonic()
        while self._timetable and self._timetable[0][0] <= now:
            due_at, _, job, per_second = heapq.heappop(self._timetable)
            self._due.put_nowait((due_at, job))
            if per_second:
                self._push(due_at + self._pause(per_second), job, per_second)
        self._changed.clear()
        wait = self._timetable[0][0] - time.monotonic() if self._timetable else 1.0
        try:
            async with asyncio.timeout(max(0.0, min(wait, 1.0))):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _work(self) -> None:
        while True:
            due_at, job = await self._due.get()
            try:
                await job(due_at)
            finally:
                self._due.task_done()

    def _pause(self, per_second: float) -> float:
        return self._random.uniform(0.5, 1.5) / per_second

    def _push(self, due_at: float, job: Job, per_second: float) -> None:
        heapq.heappush(self._timetable, (due_at, next(self._numbers), job, per_second))
        self._changed.set()
