"""The mirror process: follow every kind, and write what they tell as fast as the database takes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from typing import Final

import structlog
from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from kube.aio import AsyncGateway
from kube.kinds import AnyKind
from kube.watching import watch
from portal.mirror import clock, feeds
from portal.mirror.batches import BatchWriter, Told
from portal.models import RECORDS

_QUEUE: Final = 5000
_BATCH: Final = 500
_RETRY_SECONDS: Final = 0.5
_log = structlog.get_logger(__name__)


class MirrorProcess:
    """Runs until cancelled. One thread does all database work, so that its connection is one."""

    def __init__(self, gateway: AsyncGateway) -> None:
        self._gateway = gateway
        self._queue: asyncio.Queue[Told] = asyncio.Queue(_QUEUE)
        self._database = ThreadPoolExecutor(1, thread_name_prefix="mirror-database")
        self._writer: BatchWriter

    async def run(self) -> None:
        """Mirror the cluster. On the way out nothing is live any more."""
        try:
            await self._until_done(self._begin)
            async with asyncio.TaskGroup() as group:
                for record in RECORDS.values():
                    group.create_task(self._follow(record.KIND))
                group.create_task(self._write())
                group.create_task(self._beat())
        finally:
            self._database.submit(_nothing_is_live)
            self._database.shutdown()

    def _begin(self) -> None:
        self._writer = BatchWriter(started_at=clock.now())

    async def _follow(self, kind: AnyKind) -> None:
        # Short streams: how long a silent loss goes unnoticed decides how old "live" numbers can be.
        stream, grace = settings.STALE_SECONDS / 3, settings.STALE_SECONDS / 6
        async with aclosing(watch(self._gateway, kind, stream_seconds=stream, grace_seconds=grace)) as events:
            async for event in events:
                await self._queue.put((kind, event))

    async def _write(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            await self._until_done(partial(self._writer.write, batch, at=timezone.now()))

    async def _beat(self) -> None:
        while True:
            await self._until_done(_pulse)
            await asyncio.sleep(settings.PULSE_SECONDS / 3)

    async def _until_done(self, work: Callable[[], None]) -> None:
        """Do it, again and again while the database does not answer."""
        while True:
            try:
                await self._in_database(work)
            except Error as error:
                _log.warning("the database refused; trying again", error=str(error))
                await self._in_database(connection.close)
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    async def _in_database(self, work: Callable[[], object]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._database, work)


def _pulse() -> None:
    feeds.pulse("mirror", at=timezone.now())


def _nothing_is_live() -> None:
    """Say so as far as the database lets us: rows that nobody vouches for grow stale by themselves."""
    try:
        feeds.lost(RECORDS)
    except Error as error:
        _log.warning("could not note that the mirror stops", error=str(error))
    connection.close()
