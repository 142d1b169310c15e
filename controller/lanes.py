"""One object at a time, many objects at once.

Work is level-triggered: a key says "look at this object", and the work reads what is true when it runs. Pushing a key that is
being worked on runs it once more afterwards, however often it was pushed.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from enum import Enum, auto
from typing import Final, Generic, TypeVar

import structlog

from controller.leader import LeaseLost
from controller.metrics import LANE_FAILURES
from controller.pace import Pace
from kube.errors import Conflict, KubeError, Unavailable

K = TypeVar("K", bound=Hashable)
log = structlog.get_logger(__name__)

FIRST_RETRY_SECONDS: Final = 0.05
LAST_RETRY_SECONDS: Final = 4.0
"""Short enough that after a long outage everything is written within ten seconds."""


def retry_seconds(attempt: int, *, asked_for: int | None = None) -> float:
    """How long to wait before the attempt after this one: doubling, with jitter, never less than the server asked for."""
    wait = min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(attempt, 16))
    return max(wait * random.uniform(0.5, 1.0), float(asked_for or 0))  # noqa: S311  # spreads load, guards nothing


class Lane(Enum):
    """What is going on with one key."""

    QUEUED = auto()
    RUNNING = auto()
    RUNNING_AND_WANTED = auto()
    PAUSED = auto()
    PAUSED_AND_WANTED = auto()


_WANTED_TOO: Final = {Lane.RUNNING: Lane.RUNNING_AND_WANTED, Lane.PAUSED: Lane.PAUSED_AND_WANTED}


class Lanes(Generic[K]):
    """Run ``work(key)`` for pushed keys: first pushed, first run; one run of a key at a time; at most ``width`` runs together.

    Work that raises is run again after a growing pause, so every object is looked at until it agrees with the ledger.
    ``interval_seconds`` is the least time between two runs of one key, ``pace`` what all keys share when they are pushed without end;
    one that has not run of late is run at once.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[K], Awaitable[None]],
        *,
        tasks: asyncio.TaskGroup,
        width: int = 32,
        interval_seconds: float = 0.0,
        pace: Pace | None = None,
    ) -> None:
        self._name = name
        self._work = work
        self._tasks = tasks
        self._width = width
        self._interval_seconds = interval_seconds
        self._pace = pace
        self._lanes: dict[K, Lane] = {}
        self._queue: deque[K] = deque()
        self._attempts: dict[K, int] = {}  # failures in a row
        self._workers = 0

    def __len__(self) -> int:
        return len(self._lanes)

    def push(self, key: K) -> None:
        """Have the object looked at, now or right after the look that is under way."""
        lane = self._lanes.get(key)
        if lane is None:
            self._enqueue(key)
        else:
            self._lanes[key] = _WANTED_TOO.get(lane, lane)

    def _enqueue(self, key: K) -> None:
        self._lanes[key] = Lane.QUEUED
        self._queue.append(key)
        if self._workers < self._width:
            self._workers += 1
            self._tasks.create_task(self._work_off())

    async def _work_off(self) -> None:
        try:
            while self._queue:
                key = self._queue.popleft()
                self._lanes[key] = Lane.RUNNING
                pause = await self._run(key)
                is_wanted = self._lanes[key] is Lane.RUNNING_AND_WANTED
                if pause:
                    self._lanes[key] = Lane.PAUSED_AND_WANTED if is_wanted else Lane.PAUSED
                    self._tasks.create_task(self._resume(key, pause))
                elif is_wanted:
                    self._enqueue(key)
                else:
                    del self._lanes[key]
                await asyncio.sleep(0)  # a run that had nothing to write let nobody else on
        finally:
            self._workers -= 1

    async def _resume(self, key: K, pause: float) -> None:
        await asyncio.sleep(pause)
        if self._lanes[key] is Lane.PAUSED_AND_WANTED:
            self._enqueue(key)
        else:
            del self._lanes[key]

    async def _run(self, key: K) -> float:
        """Run the work once; give the pause before it may run again."""
        try:
            await self._work(key)
        except Conflict:
            return self._failed(key, None)  # what was decided is old, not wrong: look again
        except LeaseLost:
            log.info("not written, the lease is lost", lane=self._name, key=key)
        except Unavailable as error:
            return self._failed(key, error)
        except KubeError as error:
            log.warning("write refused, will try again", lane=self._name, key=key, error=str(error))
            return self._failed(key, error)
        except Exception:
            # One odd object must not take orders for all others down with it; it stays visible in log and metrics.
            log.exception("work failed, will try again", lane=self._name, key=key)
            return self._failed(key, None)
        self._attempts.pop(key, None)
        pause = self._pace.pause_after_run(len(self._lanes)) if self._pace else 0.0
        return max(self._interval_seconds, pause)

    def _failed(self, key: K, error: KubeError | None) -> float:
        LANE_FAILURES.labels(self._name).inc()
        self._lanes[key] = Lane.RUNNING_AND_WANTED
        attempt = self._attempts.get(key, 0)
        self._attempts[key] = attempt + 1
        return retry_seconds(attempt, asked_for=error.retry_after_seconds if error else None)
