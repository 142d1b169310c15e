"""A watch against a scripted server: what each list and each stream brings, and a time that only sleeping moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from kube.aio import AsyncGateway
from kube.backoff import Backoff
from kube.config import ClusterConfig
from kube.kinds import NAMESPACES, Kind
from kube.watching import Event, watch
from tests.kube.scripted import (
    CHUNKED,
    END,
    STALL,
    Act,
    Request,
    ScriptedServer,
)

Steps = Iterable[bytes | Act]
EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


class Rounds:
    """Serve the n-th list with the n-th of the lists and the n-th watch with the n-th of the streams; the last ones stay."""

    def __init__(self, lists: list[bytes | Steps], streams: list[Steps]) -> None:
        self._lists = lists
        self._streams = streams
        self.lists = 0
        self.watches = 0

    def __call__(self, request: Request) -> Iterator[bytes | Act]:
        if "watch" in request.query:
            steps = self._streams[min(self.watches, len(self._streams) - 1)]
            self.watches += 1
            yield from steps
        else:
            page = self._lists[min(self.lists, len(self._lists) - 1)]
            self.lists += 1
            yield from [page] if isinstance(page, bytes) else page


class Time:
    """A clock that moves only when someone sleeps, and remembers how long."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@asynccontextmanager
async def watching(
    server: ScriptedServer, kind: Kind[Any] = NAMESPACES, *, time: Time | None = None, **options: Any
) -> AsyncGenerator[AsyncGenerator[Event[Any], None], None]:
    time = time or Time()
    options = {"clock": time.clock, "sleep": time.sleep, "backoff": Backoff(random=lambda: 1.0), **options}
    async with (
        AsyncGateway.connect(ClusterConfig(server=server.url)) as gateway,
        aclosing(watch(gateway, kind, **options)) as events,
    ):
        yield events


async def take(events: AsyncGenerator[Event[Any], None], count: int) -> list[Event[Any]]:
    return [await anext(events) for _ in range(count)]


def said(events: Iterable[Event[Any]]) -> list[str]:
    return [f"{event.type} {event.name}".strip() for event in events]


def open_stream(*steps: bytes) -> Steps:
    """A stream that tells these events and then keeps open in silence."""
    return [CHUNKED, *steps, STALL]


def ended_stream(*steps: bytes) -> Steps:
    return [CHUNKED, *steps, END]
