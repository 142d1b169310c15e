"""`python manage.py mirror`: keep the database's copy of the cluster fresh."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand

from kube import config
from kube.aio import AsyncGateway
from portal.mirror.process import MirrorProcess


class Command(BaseCommand):
    help = "Follow the cluster and mirror it into the database, until stopped."

    def handle(self, *args: Any, **options: Any) -> None:
        uvloop.run(_run())


async def _run() -> None:
    async with AsyncGateway.connect(config.load(settings.KUBECONFIG)) as gateway:
        mirror = asyncio.create_task(MirrorProcess(gateway).run())
        loop = asyncio.get_running_loop()
        for stop in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(stop, mirror.cancel)
        try:
            await mirror
        except asyncio.CancelledError:
            if not mirror.cancelled():
                raise
