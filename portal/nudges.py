"""The word that something changed, sent over Redis to every web process. Nothing may depend on one arriving."""

from __future__ import annotations

import os
import time
from functools import lru_cache, partial
from typing import Final

import redis
import structlog
from django.conf import settings
from django.db import transaction
from redis.backoff import NoBackoff
from redis.retry import Retry

CHANNEL: Final = "gpu-portal:nudges"
_PAUSE_SECONDS: Final = 2.0

_log = structlog.get_logger(__name__)
_silent_until = 0.0


def connection() -> redis.Redis:
    """Give this process's connection. It never waits long and never tries twice."""
    return _connection_of(os.getpid(), settings.REDIS_URL)


@lru_cache(maxsize=1)
def _connection_of(pid: int, url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=0.5,
        socket_connect_timeout=0.5,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=10,
    )


def nudge(kind: str, namespace: str, revision: str) -> None:
    """Say that objects of this kind (plural; "budgets" for budgets) changed in a namespace ("" for none).

    While Redis is down nothing is sent, and after a failure it is left alone for a moment, so that a page never waits for it.
    """
    global _silent_until
    if time.monotonic() < _silent_until:
        return
    try:
        connection().publish(CHANNEL, f"{kind} {namespace} {revision}")
    except (redis.RedisError, OSError) as error:
        _silent_until = time.monotonic() + _PAUSE_SECONDS
        _log.warning("a nudge was lost", error=str(error))


def nudge_on_commit(kind: str, namespace: str, revision: str) -> None:
    """Nudge once what was written can be read."""
    transaction.on_commit(partial(nudge, kind, namespace, revision))
