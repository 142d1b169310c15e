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
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from gpu.corekinds import ObjectMeta
from kube.aio import AsyncGateway
from kube.answers import UnreadableItem, decoder_of, unreadable_item
from kube.backoff import Backoff
from kube.errors import Gone, KubeError, Unreadable
from kube.kinds import Kind, Opaque, metadata_of
from kube.statuses import error_from_event

T = TypeVar("T", bound=Struct)

logger: Final = logging.getLogger(__name__)

STEADY_SECONDS: Final = 5.0
"""A stream that lived this long ends a row of failures. One that ended sooner continues it, however it ended."""


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    UNREADABLE = "UNREADABLE"
    """The object exists but its model cannot decode it: ``raw``, and the names where they can be read."""
    LISTED = "LISTED"
    """The picture is complete, and live from now on."""
    ALIVE = "ALIVE"
    """The stream works and nothing is missing up to now: a bookmark came, or the server ended a stream in good order."""
    DISCONNECTED = "DISCONNECTED"
    """The stream is lost (``error`` says why): what is known grows old until the next ``LISTED``. Comes once per loss."""


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """What happened. The names and uid are given for every object.

    ``object`` and ``raw`` are set for ADDED and MODIFIED, and for a DELETED that the server told of (then the last state); they are
    ``None`` for a DELETED that was found out by listing.
    """

    type: EventType
    object: T | None = None
    raw: bytes | None = None
    resource_version: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    error: KubeError | None = None


class _Line(Struct):
    type: str
    object: msgspec.Raw


_line_decoder: Final = msgspec.json.Decoder(_Line)
_opaque_decoder: Final = msgspec.json.Decoder(Opaque)


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
    known: dict[tuple[str, str], str] = field(default_factory=dict)
    """Namespace and name of every object told of, and its uid."""


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
    seen: set[tuple[str, str]] = set()
    version = ""
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
            for item in page.items:
                metadata = metadata_of(item.object)
                seen.add((metadata.namespace, metadata.name))
                for event in _arrived(state, metadata, item.object, item.raw):
                    yield event
            for unreadable in page.unreadable:
                seen.add((unreadable.namespace, unreadable.name))
                yield _unreadable(state, unreadable)
    for key in [key for key in state.known if key not in seen]:
        uid = state.known.pop(key)
        yield Event(EventType.DELETED, namespace=key[0], name=key[1], uid=uid, resource_version=version)
    yield Event(EventType.LISTED, resource_version=version)


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
            for event in _events_of(state, line):
                yield event


def _events_of(state: _Watch[T], line: bytes) -> Iterator[Event[T]]:
    try:
        told = _line_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"the watch of {state.kind.plural} sent what is no event: {error}") from error
    raw = bytes(told.object)
    if told.type == "ERROR":
        raise error_from_event(raw)
    try:
        if told.type == "BOOKMARK":
            metadata = _opaque_decoder.decode(raw).metadata
            yield Event(EventType.ALIVE, resource_version=metadata.resource_version)
            return
        decoded = decoder_of(state.kind.model).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        yield _unreadable_told(state, told.type, unreadable_item(raw, error))
        return
    metadata = metadata_of(decoded)
    if told.type == "DELETED":
        state.known.pop((metadata.namespace, metadata.name), None)
        yield _event(EventType.DELETED, metadata, decoded, raw)
    elif told.type in ("ADDED", "MODIFIED"):
        yield from _arrived(state, metadata, decoded, raw)
    else:
        raise Unreadable(f"the watch of {state.kind.plural} sent an event of the unknown type {told.type!r}")


def _arrived(state: _Watch[T], metadata: ObjectMeta, decoded: T, raw: bytes) -> Iterator[Event[T]]:
    """Tell of an object that exists. One deleted and made anew under its name unnoticed is first told of as deleted."""
    key = (metadata.namespace, metadata.name)
    known_uid = state.known.get(key)
    if known_uid is not None and known_uid != metadata.uid:
        yield Event(EventType.DELETED, namespace=key[0], name=key[1], uid=known_uid)
        known_uid = None
    state.known[key] = metadata.uid
    yield _event(EventType.ADDED if known_uid is None else EventType.MODIFIED, metadata, decoded, raw)


def _event(event_type: EventType, metadata: ObjectMeta, decoded: T, raw: bytes) -> Event[T]:
    return Event(
        event_type,
        decoded,
        raw,
        metadata.resource_version,
        metadata.namespace,
        metadata.name,
        metadata.uid,
    )


def _unreadable_told(state: _Watch[T], told_type: str, item: UnreadableItem) -> Event[T]:
    """Tell of an event whose object does not decode; a deletion stays one, as long as it says of what."""
    if told_type == "DELETED" and item.name:
        uid = state.known.pop((item.namespace, item.name), "")
        return Event(
            EventType.DELETED,
            None,
            item.raw,
            item.resource_version,
            item.namespace,
            item.name,
            uid or item.uid,
        )
    return _unreadable(state, item)


def _unreadable(state: _Watch[T], item: UnreadableItem) -> Event[T]:
    if item.name:
        state.known[(item.namespace, item.name)] = item.uid
    return Event(
        EventType.UNREADABLE,
        None,
        item.raw,
        item.resource_version,
        item.namespace,
        item.name,
        item.uid,
        Unreadable(item.error),
    )
