"""The ASGI entry: Django, and beside it the event stream. `uvicorn portal.asgi:application`."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

# Models can be imported from here on.
from django.conf import settings  # noqa: E402
from django.core.exceptions import ImproperlyConfigured  # noqa: E402

from portal.hub import Hub  # noqa: E402
from portal.live import Receive, Scope, Send, stream  # noqa: E402

if settings.SECRET_KEY_IS_MADE_UP and not settings.DEBUG:
    raise ImproperlyConfigured(
        "SECRET_KEY (or SECRET_KEY_FILE) is missing: sessions would end with this process."
    )

LIVE_PATH = "/live/"
_hub = Hub()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve one connection of the server, or its start and stop."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "http" and scope["path"] == LIVE_PATH:
        await stream(_hub, scope, receive, send)
    else:
        await django_application(scope, receive, send)  # type: ignore[arg-type]  # the stubs name their own aliases


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            for number in (signal.SIGTERM, signal.SIGINT):
                _end_streams_on(number)
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await _hub.close()
            await send({"type": "lifespan.shutdown.complete"})
            return


def _end_streams_on(number: signal.Signals) -> None:
    """End the streams before the server waits for them: it tells applications of its stop only when they are done."""
    before = signal.getsignal(number)
    if not callable(before):
        return
    loop = asyncio.get_running_loop()
    signal.signal(number, _both(loop, before))


def _both(
    loop: asyncio.AbstractEventLoop, before: Callable[[int, FrameType | None], object]
) -> Callable[[int, FrameType | None], None]:
    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(_hub.stop)
        before(number, frame)

    return handle
