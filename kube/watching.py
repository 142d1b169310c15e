"""Follow all objects of one kind: list, then watch from the list's version, for ever.

Three nested generators with one duty each: :func:`watch` never ends (it waits and starts over after a loss), ``_follow`` lists once
and then strings streams together until it is time to list again, ``_stream`` reads one stream.

What a reader can count on: after ``LISTED`` the picture is complete as of that version, and live until ``DISCONNECTED``. What
disappeared while nobody looked comes as ``DELETED`` before ``LISTED``. The same state may come more than once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from msgspec import Struct

from kube.aio import AsyncGateway
from kube.backoff import Backoff
from kube.errors import Gone, KubeError
from kube.kinds import Kind
from kube.picture import Event, EventType, Picture

__all__ = ["Event", "EventType", "watch"]

T = TypeVar("T", bound=Struct)

logger: Final = logging.getLogger(__name__)

STEADY_SECONDS: Final = 5.0
"""A stream that lived this long ends a row of failures. One that ended sooner continues it, however it ended."""


@dataclass
class _Watch(Generic[T]):
    """What one endless watch is about, and what it remembers between lists."""

    gateway: AsyncGateway
    kind: Kind[T]
    namespace: str | None
    label_selector: str | None
    field_selector: str | None
    relist_seconds: float
    stream_seconds: float
    grace_seconds: float
    page_size: int
    backoff: Backoff
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    picture: Picture[T]


async def watch(
    gateway: AsyncGateway,
    kind: Kind[T],
    *,
    namespace: str | None = None,
    label_selector: str | None = None,
    field_selector: str | None = None,
    relist_seconds: float = 600.0,
    stream_seconds: float = 50.0,
    grace_seconds: float = 10.0,
    page_size: int = 500,
    backoff: Backoff | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> AsyncGenerator[Event[T], None]:
    """Yield what happens to the objects, endlessly; every failure of the cluster is an event, none is raised.

    Close it with ``aclosing``. ``relist_seconds``: how often everything is listed anew. ``stream_seconds``: how long the server keeps
    one stream; one that is not ended and silent ``grace_seconds`` beyond that is lost, so a dead connection is noticed within their
    sum whether the server sends bookmarks or not.
    """
    state = _Watch(
        gateway=gateway,
        kind=kind,
        namespace=namespace,
        label_selector=label_selector,
        field_selector=field_selector,
        relist_seconds=relist_seconds,
        stream_seconds=stream_seconds,
        grace_seconds=grace_seconds,
        page_size=page_size,
        backoff=backoff or Backoff(),
        clock=clock,
        sleep=sleep,
        picture=Picture(kind),
    )
    is_lost = False
    while True:
        try:
            async with aclosing(_follow(state)) as events:
                async for event in events:
                    if event.type is EventType.LISTED:
                        is_lost = False
                    yield event
        except KubeError as error:
            lost: Event[T] = Event(
                EventType.DISCONNECTED, error=error
            )  # Event[T](...) fails on a slotted class
        else:
            continue
        logger.warning("The watch of %s is lost: %s", kind.plural, lost.error)
        if not is_lost:
            is_lost = True
            yield lost
        await sleep(state.backoff.next_seconds(lost.error))


async def _follow(state: _Watch[T]) -> AsyncGenerator[Event[T], None]:
    """List, then stream from there; end when it is time to list again. Raise KubeError when the connection is lost."""
    version = ""
    async with aclosing(_list(state)) as events:
        async for event in events:
            version = event.resource_version
            yield event
    relist_at = state.clock() + state.relist_seconds
    while state.clock() < relist_at:
        started_at = state.clock()
        try:
            async with aclosing(_stream(state, version)) as events:
                async for event in events:
                    version = event.resource_version or version
                    yield event
        finally:
            was_steady = state.clock() - started_at >= min(STEADY_SECONDS, state.stream_seconds)
            if was_steady:
                state.backoff.reset()
        yield Event(EventType.ALIVE, resource_version=version)
        if not was_steady:
            await state.sleep(state.backoff.next_seconds())


async def _list(state: _Watch[T]) -> AsyncGenerator[Event[T], None]:
    """Tell of every object, page by page, then of those gone, then LISTED.

    When the pages expire half-way it starts again in one piece, which cannot expire.
    """
    try:
        async with aclosing(_list_pages(state, state.page_size)) as events:
            async for event in events:
                yield event
    except Gone:
        logger.info("The list of %s expired between two pages and starts again", state.kind.plural)
    else:
        return
    async with aclosing(_list_pages(state, 0)) as events:
        async for event in events:
            yield event


async def _list_pages(state: _Watch[T], page_size: int) -> AsyncGenerator[Event[T], None]:
    version = ""
    state.picture.start_list()
    pages = state.gateway.pages(
        state.kind,
        namespace=state.namespace,
        label_selector=state.label_selector,
        field_selector=state.field_selector,
        limit=page_size,
    )
    async with aclosing(pages):
        async for page in pages:
            version = version or page.resource_version
            for event in state.picture.page(page):
                yield event
    for event in state.picture.end_list(version):
        yield event


async def _stream(state: _Watch[T], version: str) -> AsyncGenerator[Event[T], None]:
    """Read one stream until the server ends it. Raise KubeError when it breaks, falls silent or reports an error."""
    lines = state.gateway.lines(
        state.kind,
        namespace=state.namespace,
        label_selector=state.label_selector,
        field_selector=state.field_selector,
        resource_version=version,
        timeout_seconds=max(1, round(state.stream_seconds)),
        quiet_seconds=state.stream_seconds + state.grace_seconds,
    )
    async with aclosing(lines):
        async for line in lines:
            for event in state.picture.line(line):
                yield event
