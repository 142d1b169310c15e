"""One listener of a web process on Redis, and everybody in it who wants to hear.

A thousand open pages are one connection to Redis. Each page has a small bag of names of what changed: a slow reader loses repetitions,
never a name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import redis.asyncio as redis
import structlog
from django.conf import settings
from redis.exceptions import RedisError

from portal.nudges import CHANNEL

_RETRY_SECONDS: Final = 1.0
_PING_SECONDS: Final = 5.0
_EVENTS: Final = {
    "gpuclasses": "classes",
    "gpuclaims": "claims",
    "nodes": "nodes",
    "gpunodes": "nodes",
    "stock": "nodes",
    "resourcequotas": "budget",
    "namespaces": "budget",
    "budgets": "budget",
}
"""What a page calls the change of a kind. Kinds not named here are nothing to see."""
_FOR_HOSTERS: Final = frozenset({"nodes"})
_FOR_ALL: Final = frozenset({"classes"})

_log = structlog.get_logger(__name__)


@dataclass(eq=False)
class Listener:
    """One open page. ``tenant`` "" hears of no tenant, unless it is the hoster's and hears of everything."""

    tenant: str
    is_hoster: bool
    waiting: dict[str, str] = field(default_factory=dict)
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def hears(self, event: str, namespace: str) -> bool:
        if event in _FOR_ALL:
            return True
        if event in _FOR_HOSTERS:
            return self.is_hoster
        if self.is_hoster and not self.tenant:
            return True
        return bool(self.tenant) and namespace in {self.tenant, ""}

    def put(self, event: str, revision: str) -> None:
        self.waiting[event] = revision
        self.woken.set()

    def take(self) -> dict[str, str]:
        taken, self.waiting = self.waiting, {}
        self.woken.clear()
        return taken


class Hub:
    """Listens from the first page on until :meth:`close`; tells pages when Redis goes and when it is back."""

    def __init__(self) -> None:
        self.is_live: bool | None = None
        """Whether nudges arrive; None until that is known."""
        self.is_stopping = False
        self._listeners: set[Listener] = set()
        self._held_back: dict[tuple[str, str], str] = {}
        self._quiet: set[tuple[str, str]] = set()
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[Listener]:
        """Let the page hear until the block ends."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen())
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def stop(self) -> None:
        """Ask every stream to end."""
        self.is_stopping = True
        for listener in self._listeners:
            listener.woken.set()

    async def close(self) -> None:
        """End every stream and stop listening."""
        self.stop()
        task, self._task = self._task, None
        while task is not None and not task.done():
            # Again where it had no effect: the client can lose a cancellation while it reads.
            task.cancel()
            await asyncio.wait({task}, timeout=0.2)

    async def _listen(self) -> None:
        while not self.is_stopping:
            try:
                await self._hear()
            except (RedisError, OSError) as error:
                if self.is_live:
                    _log.warning("live updates are interrupted", error=str(error))
                self._tell_all(is_live=False)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _hear(self) -> None:
        """Hear nudges until Redis goes. A silent connection is tried from time to time, so that a dead one is noticed."""
        client = redis.Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=2,
            socket_timeout=_PING_SECONDS * 2,
            health_check_interval=_PING_SECONDS,
        )
        async with client, client.pubsub(ignore_subscribe_messages=True) as pubsub:
            await pubsub.subscribe(CHANNEL)
            await client.ping()
            self._tell_all(is_live=True)
            while not self.is_stopping:
                message = await pubsub.get_message(timeout=_PING_SECONDS)
                if message is not None:
                    self._nudged(message["data"].decode())
                else:
                    await client.ping()

    def _tell_all(self, *, is_live: bool) -> None:
        was_live, self.is_live = self.is_live, is_live
        if was_live is is_live:
            return
        for listener in self._listeners:
            listener.put("live" if is_live else "stale", "")
            if was_live is False:
                # What was said meanwhile is lost: everything may have changed.
                for event in sorted({*_EVENTS.values()}):
                    if listener.hears(event, listener.tenant):
                        listener.put(event, "again")

    def _nudged(self, line: str) -> None:
        """Pass the first nudge on at once, and those that follow close behind as one."""
        kind, namespace, revision = line.split(" ", 2)
        event = _EVENTS.get(kind)
        if event is None:
            return
        subject = (event, namespace)
        if subject in self._quiet:
            self._held_back[subject] = revision
            return
        self._speak(subject, revision)

    def _speak(self, subject: tuple[str, str], revision: str) -> None:
        self._quiet.add(subject)
        event, namespace = subject
        for listener in self._listeners:
            if listener.hears(event, namespace):
                listener.put(event, revision)
        asyncio.get_running_loop().call_later(settings.LIVE_DEBOUNCE_SECONDS, self._speak_again, subject)

    def _speak_again(self, subject: tuple[str, str]) -> None:
        self._quiet.discard(subject)
        revision = self._held_back.pop(subject, None)
        if revision is not None:
            self._speak(subject, revision)
