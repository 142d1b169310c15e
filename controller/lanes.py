"""One object at a time, many objects at once.

Work is level-triggered: a key says "look at this object", and the work reads what is true when it runs. Pushing a key that is
being worked on runs it once more afterwards, however often it was pushed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

import structlog

from controller.leader import LeaseLost
from controller.metrics import LANE_FAILURES
from kube.errors import Conflict, KubeError, Unavailable

K = TypeVar("K", bound=Hashable)
log = structlog.get_logger(__name__)

FIRST_RETRY_SECONDS: Final = 0.05
LAST_RETRY_SECONDS: Final = 15.0


def retry_seconds(attempt: int, *, asked_for: int | None = None) -> float:
    """How long to wait before the attempt after this one: doubling, with jitter, never less than the server asked for."""
    wait = min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(attempt, 16))
    return max(wait * random.uniform(0.5, 1.0), float(asked_for or 0))  # noqa: S311  # spreads load, guards nothing


class Lanes(Generic[K]):
    """Run ``work(key)`` for pushed keys: in order per key, side by side for different keys, at most ``width`` together.

    Work that raises is run again after a growing pause, so every object is looked at until it agrees with the ledger.
    ``interval_seconds`` is the least time between two runs of one key.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[K], Awaitable[None]],
        *,
        tasks: asyncio.TaskGroup,
        width: int = 32,
        interval_seconds: float = 0.0,
    ) -> None:
        self._name = name
        self._work = work
        self._tasks = tasks
        self._slots = asyncio.Semaphore(width)
        self._interval_seconds = interval_seconds
        self._wanted: dict[K, bool] = {}  # present: a lane is open for the key; True: run (again)

    def __len__(self) -> int:
        return len(self._wanted)

    def push(self, key: K) -> None:
        """Have the object looked at, now or right after the look that is under way."""
        is_open = key in self._wanted
        self._wanted[key] = True
        if not is_open:
            self._tasks.create_task(self._drive(key))

    async def _drive(self, key: K) -> None:
        attempt = 0
        while self._wanted[key]:
            self._wanted[key] = False
            pause = self._interval_seconds
            try:
                async with self._slots:
                    await self._work(key)
                attempt = 0
            except Conflict:
                # Somebody else wrote first: what was decided is old, not wrong. Look again.
                self._wanted[key] = True
                pause = retry_seconds(attempt)
                attempt += 1
            except LeaseLost:
                log.info("not written, the lease is lost", lane=self._name, key=key)
            except Unavailable as error:
                pause = self._failed(key, attempt, error)
                attempt += 1
            except KubeError as error:
                log.warning("write refused, will try again", lane=self._name, key=key, error=str(error))
                pause = self._failed(key, attempt, error)
                attempt += 1
            except Exception:
                # One odd object must not take orders for all others down with it; it stays visible in log and metrics.
                log.exception("work failed, will try again", lane=self._name, key=key)
                pause = self._failed(key, attempt, None)
                attempt += 1
            if pause:
                await asyncio.sleep(pause)
        del self._wanted[key]

    def _failed(self, key: K, attempt: int, error: KubeError | None) -> float:
        LANE_FAILURES.labels(self._name).inc()
        self._wanted[key] = True
        return retry_seconds(attempt, asked_for=error.retry_after_seconds if error else None)
