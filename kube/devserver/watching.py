"""watch: the changes of a collection as they happen, until the client has had enough or falls too far behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from kube.devserver.answer import Send
from kube.devserver.history import Change, TooOld
from kube.devserver.reading import as_number, check_not_ahead, included, wants_table
from kube.devserver.request import Request, Target
from kube.devserver.selectors import Matcher, matcher
from kube.devserver.served import Object, Served
from kube.devserver.state import State
from kube.devserver.status import expired
from kube.devserver.store import Record
from kube.devserver.tables import table

_DEFAULT_SECONDS: Final = 1800
_BOOKMARK_SECONDS: Final = 60.0
_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

Receive = Callable[[], Awaitable[dict[str, Any]]]


class Watches:
    """The open watches, so that a stop of the server can end them."""

    def __init__(self) -> None:
        self._open: set[Watch] = set()

    def end_all(self) -> None:
        for watch in self._open:
            watch.end()

    async def serve(
        self, state: State, request: Request, target: Target, served: Served, receive: Receive, send: Send
    ) -> None:
        """Answer a watch request. Raise ApiError before the first byte only."""
        watch = Watch(state, request, target, served)
        self._open.add(watch)
        listening = asyncio.create_task(watch.end_with_client(receive))
        try:
            await watch.run(send)
        finally:
            listening.cancel()
            self._open.discard(watch)


class Watch:
    """One client's watch of one collection."""

    def __init__(self, state: State, request: Request, target: Target, served: Served) -> None:
        query = request.query
        self._state = state
        self._request = request
        self._served = served
        self._namespace = target.namespace if served.namespaced and target.namespace else None
        self._collection = state.store.collection(served.collection)
        self._test: Matcher | None = matcher(
            query.get("labelSelector", ""), query.get("fieldSelector", ""), served
        )
        self._as_table = wants_table(request)
        self._headers_sent = False
        self._ended = False
        self._wake = asyncio.Event()
        self._bookmarks = request.flag("allowWatchBookmarks")
        seconds = as_number(query.get("timeoutSeconds") or str(_DEFAULT_SECONDS), "timeoutSeconds")
        self._until = time.monotonic() + seconds
        self._bookmark_due = time.monotonic() + _BOOKMARK_SECONDS
        self._initial = request.flag("sendInitialEvents")
        start = as_number(query.get("resourceVersion") or "0", "resourceVersion")
        check_not_ahead(state, start)
        self._from_now = start == 0 or self._initial
        self._position = state.store.version if self._from_now else start

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    async def end_with_client(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end()

    async def run(self, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-cache, private")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        first = self._first_lines() if self._from_now else b""
        await send({"type": "http.response.body", "body": first, "more_body": True})
        history = self._collection.history
        history.listeners.add(self._wake)
        try:
            while not self._ended:
                self._wake.clear()
                lines = self._new_lines()
                if lines:
                    await send({"type": "http.response.body", "body": lines, "more_body": True})
                    continue
                due = min(self._until, self._bookmark_due) - time.monotonic()
                try:
                    await asyncio.wait_for(self._wake.wait(), max(due, 0))
                except TimeoutError:
                    await self._time_is_up(send)
        finally:
            history.listeners.discard(self._wake)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _time_is_up(self, send: Send) -> None:
        if self._bookmarks:
            lines = self._new_lines() + self._bookmark()
            await send({"type": "http.response.body", "body": lines, "more_body": True})
        self._bookmark_due = time.monotonic() + _BOOKMARK_SECONDS
        if time.monotonic() >= self._until:
            self._ended = True

    def _first_lines(self) -> bytes:
        lines = [
            self._line("ADDED", record)
            for record in self._collection.within(self._namespace)
            if self._test is None or self._test(record.object)
        ]
        if self._initial:
            lines.append(self._bookmark(annotations={_INITIAL_EVENTS_END: "true"}))
        return b"".join(lines)

    def _new_lines(self) -> bytes:
        try:
            changes = self._collection.history.after(self._position)
        except TooOld:
            self._ended = True
            gone = expired(f"too old resource version: {self._position} ({self._collection.history.since})")
            return msgspec.json.encode({"type": "ERROR", "object": gone.status()}) + b"\n"
        if changes:
            self._position = changes[-1].version
        return b"".join(self._change_line(change) for change in changes)

    def _change_line(self, change: Change[Record]) -> bytes:
        if self._namespace is not None and change.key[0] != self._namespace:
            return b""
        before, after = change.before, change.after
        if self._test is not None:
            before = before if before is not None and self._test(before.object) else None
            after = after if after is not None and self._test(after.object) else None
        if after is not None:
            return self._cached_line(change, "MODIFIED" if before is not None else "ADDED", after)
        if before is None:
            return b""
        if change.last is not None:
            return self._cached_line(change, "DELETED", change.last)
        # It left the selector: its former state, under the resourceVersion of the change.
        content = before.object
        content["metadata"]["resourceVersion"] = str(change.version)
        return self._line(
            "DELETED", Record(before.key, before.uid, change.version, msgspec.json.encode(content))
        )

    def _cached_line(self, change: Change[Record], kind: str, record: Record) -> bytes:
        if self._as_table:
            return self._line(kind, record)
        line = change.lines.get(kind)
        if line is None:
            line = change.lines[kind] = self._line(kind, record)
        return line

    def _line(self, kind: str, record: Record) -> bytes:
        if not self._as_table:
            return b'{"type":"%b","object":%b}\n' % (kind.encode(), record.raw)
        content = record.object
        metadata = {"resourceVersion": content["metadata"]["resourceVersion"]}
        return self._table_line(kind, [content], metadata)

    def _table_line(self, kind: str, objects: list[Object], metadata: Object) -> bytes:
        laid_out = table(
            self._served,
            objects,
            metadata,
            include=included(self._request),
            headers=not self._headers_sent,
        )
        self._headers_sent = True
        return msgspec.json.encode({"type": kind, "object": laid_out}) + b"\n"

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        # Sent only together with, and after, everything up to the counter.
        metadata: Object = {"resourceVersion": str(self._state.store.version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        if self._as_table:
            return self._table_line("BOOKMARK", [], metadata)
        content = {"kind": self._served.kind, "apiVersion": self._served.api_version, "metadata": metadata}
        return msgspec.json.encode({"type": "BOOKMARK", "object": content}) + b"\n"
