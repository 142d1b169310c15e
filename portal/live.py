"""The event stream of open pages, as a raw ASGI application: no thread is kept for it.

`GET /live/?tenant=<namespace>` sends `event: classes|claims|nodes|budget` whose data is a revision and nothing else: the page fetches
its fragments anew, and those check access. `live` says that changes will be told from here on, `stale` that they are not for
now, `close` that the session has ended and the browser must not come again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qs

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError, close_old_connections
from django.http import HttpRequest

from portal.access import Access, access_of
from portal.hub import Hub, Listener

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HEARTBEAT_SECONDS: Final = 15.0
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


async def stream(hub: Hub, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request for the stream, until the browser leaves, the session ends or the process stops."""
    if scope["method"] != "GET":
        await _refuse(send, 405)
        return
    tenant = parse_qs(scope["query_string"].decode("latin-1")).get("tenant", [""])[0]
    access = await _access(scope)
    if access is None:
        # 204 tells EventSource not to come again: there is nobody to talk to.
        await _refuse(send, 204)
        return
    if tenant and not access.can_view(tenant):
        await _refuse(send, 404)
        return
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    # Browsers that lose us together must not come back together.
    await _send(send, f"retry: {random.randint(1000, 4000)}\n\n")  # noqa: S311  # spreads load, guards nothing
    leaving = asyncio.create_task(_until_left(receive))
    try:
        with hub.listening(Listener(tenant=tenant, is_hoster=access.is_hoster)) as listener:
            await _talk(hub, listener, scope, send, leaving)
    finally:
        leaving.cancel()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _talk(hub: Hub, listener: Listener, scope: Scope, send: Send, leaving: asyncio.Task[None]) -> None:
    loop = asyncio.get_running_loop()
    if hub.is_live is not None:
        listener.put("live" if hub.is_live else "stale", "")
    check_at = loop.time() + settings.LIVE_RECHECK_SECONDS
    while not hub.is_stopping:
        woken = asyncio.create_task(listener.woken.wait())
        pause = min(HEARTBEAT_SECONDS, max(0.0, check_at - loop.time()))
        await asyncio.wait({woken, leaving}, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()
        if leaving.done():
            return
        if loop.time() >= check_at:
            if not await _may_still_listen(listener, scope):
                await _send(send, "event: close\ndata: the session has ended\n\n")
                return
            check_at = loop.time() + settings.LIVE_RECHECK_SECONDS
        news = listener.take()
        text = "".join(f"event: {event}\ndata: {revision}\n\n" for event, revision in news.items())
        await _send(send, text or ": alive\n\n")


async def _may_still_listen(listener: Listener, scope: Scope) -> bool:
    """Check again who this is. While the database does not answer, nobody is sent away: the stream holds no data."""
    try:
        access = await _access(scope)
    except DatabaseError:
        return True
    if access is None or access.is_hoster != listener.is_hoster:
        return False
    return not listener.tenant or access.can_view(listener.tenant)


async def _access(scope: Scope) -> Access | None:
    key = _session_key(scope)
    return await sync_to_async(_access_of_session, thread_sensitive=False)(key) if key else None


def _access_of_session(key: str) -> Access | None:
    close_old_connections()
    try:
        request = HttpRequest()
        request.session = SessionStore(key)
        user = get_user(request)
        return access_of(user) if user.is_authenticated else None
    finally:
        close_old_connections()


def _session_key(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"cookie":
            try:
                morsel = SimpleCookie(value.decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
            except CookieError:
                continue
            if morsel is not None:
                return morsel.value
    return ""


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _refuse(send: Send, status: int) -> None:
    await send(
        {"type": "http.response.start", "status": status, "headers": [(b"cache-control", b"no-store")]}
    )
    await send({"type": "http.response.body", "body": b""})
