"""The API server's own watch, read without the product's: list whole, then lines, and from the list again after any loss."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from bench.oversell.facts import Json
from kube.config import ClusterConfig
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NAMESPACES, NODES, RESOURCE_QUOTAS, AnyKind

WATCHED: Final[tuple[AnyKind, ...]] = (NAMESPACES, RESOURCE_QUOTAS, NODES, GPU_CLASSES, GPU_CLAIMS)
_STREAM_SECONDS: Final = 60
_PAUSE_SECONDS: Final = 0.1


class Lost(Exception):
    """The stream ended, broke, or its version is too old."""


@dataclass(frozen=True)
class Told:
    """One event, or with ``listed`` everything there is of the kind."""

    kind: AnyKind
    at: float
    type: str = ""
    object: Json | None = None
    listed: Sequence[Json] | None = None


class Feed:
    """Follows the kinds for ever and hands over what is told, in the order in which the server tells it of each kind."""

    def __init__(self, config: ClusterConfig, take: Callable[[Told], None]) -> None:
        self._config = config
        self._take = take
        self._listed: set[str] = set()
        self._is_complete = asyncio.Event()
        self.losses = 0

    async def run(self) -> None:
        headers = {"Authorization": self._config.credentials.authorization() or ""}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=3, sock_read=_STREAM_SECONDS + 10)
        async with (
            aiohttp.ClientSession(
                headers=headers, timeout=timeout, read_bufsize=2**20, connector=aiohttp.TCPConnector(limit=0)
            ) as session,
            asyncio.TaskGroup() as tasks,
        ):
            for kind in WATCHED:
                tasks.create_task(self._follow(session, kind))

    async def until_complete(self) -> None:
        """Wait until every kind was listed."""
        await self._is_complete.wait()

    async def _follow(self, session: aiohttp.ClientSession, kind: AnyKind) -> None:
        while True:
            try:
                version = await self._list(session, kind)
                while True:
                    version = await self._stream(session, kind, version)
            except (Lost, aiohttp.ClientError, OSError, TimeoutError, ValueError):
                # A list tells everything that was missed, whatever the reason was.
                self.losses += 1
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _list(self, session: aiohttp.ClientSession, kind: AnyKind) -> str:
        async with session.get(self._url(kind), ssl=self._config.tls) as response:
            if response.status != 200:
                raise Lost(response.status)
            body: dict[str, Any] = json.loads(await response.read())
        self._take(Told(kind, time.monotonic(), listed=body["items"]))
        self._listed.add(kind.plural)
        if len(self._listed) == len(WATCHED):
            self._is_complete.set()
        version: str = body["metadata"]["resourceVersion"]
        return version

    async def _stream(self, session: aiohttp.ClientSession, kind: AnyKind, version: str) -> str:
        query = {
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_STREAM_SECONDS),
        }
        async with session.get(self._url(kind), params=query, ssl=self._config.tls) as response:
            if response.status != 200:
                raise Lost(response.status)
            async for line in _lines(response):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise Lost(event["object"])
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._take(Told(kind, time.monotonic(), event["type"], event["object"]))
        return version

    def _url(self, kind: AnyKind) -> str:
        return self._config.server + kind.path()


async def _lines(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    rest = b""
    async for chunk in response.content.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line:
                yield line
