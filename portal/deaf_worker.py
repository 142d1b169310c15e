"""A worker that is connected and takes nothing ends itself, so that whoever runs it starts another.

After a broker was restarted a Celery worker can stay connected and deaf (celery#8030, #10205 and their like). Only one thing proves
that a worker hears: that it takes the task that waits. The clock sends one every few seconds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import redis
import structlog
from celery.signals import task_postrun, task_prerun, worker_ready
from django.conf import settings

from portal import nudges

EXIT_CODE: Final = 70
"""EX_SOFTWARE: not the exit of a worker that was asked to stop."""

_log = structlog.get_logger(__name__)


class Hearing:
    """When the worker last took or finished a task, and how many it works on. Times are seconds of a clock nobody sets."""

    def __init__(self, *, limit_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit_seconds = limit_seconds
        self._clock = clock
        self._running = 0
        self._heard_at = clock()
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            self._running += 1
            self._heard_at = self._clock()

    def end(self) -> None:
        with self._lock:
            self._running -= 1
            self._heard_at = self._clock()

    def is_deaf(self, *, waiting: int | None) -> bool:
        """Say whether tasks wait while nothing was taken for the limit. ``None``: the broker does not answer, so nothing is known."""
        with self._lock:
            if not waiting:
                self._heard_at = self._clock()
            return self._running == 0 and self._clock() - self._heard_at > self.limit_seconds


def waiting_tasks() -> int | None:
    """Count the tasks that wait for a worker, or None while Redis is away."""
    try:
        return int(nudges.connection().llen(settings.CELERY_TASK_DEFAULT_QUEUE))
    except redis.RedisError:
        return None


def watch_workers() -> None:
    """Have every worker that starts in this process watched."""
    worker_ready.connect(_start, weak=False)


def _start(**_: Any) -> None:
    hearing = Hearing(limit_seconds=2 * settings.PULSE_SECONDS)
    task_prerun.connect(lambda **_: hearing.begin(), weak=False)
    task_postrun.connect(lambda **_: hearing.end(), weak=False)
    threading.Thread(target=_watch, args=(hearing,), name="deaf-worker", daemon=True).start()


def _watch(hearing: Hearing) -> None:
    while True:
        time.sleep(hearing.limit_seconds / 8)
        if hearing.is_deaf(waiting=waiting_tasks()):
            _log.error(
                "tasks wait and none is taken: ending, to be started anew", seconds=hearing.limit_seconds
            )
            # A warm shutdown would wait for the very consumer that hears nothing. Tasks are acknowledged late: none is lost.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(EXIT_CODE)
