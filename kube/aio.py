"""Read and write objects of the cluster, for an event loop: the controller and the mirror.

The verbs are those of :mod:`kube.gateway`, as coroutines, on one aiohttp session with kept-alive connections. One per process and
event loop. Raises :mod:`kube.errors` only, and repeats no call but those that are repeated there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from msgspec import Struct

from kube import calls
from kube.answers import Listing, Page, Read, listing_of, read_deleted, read_object, read_page, read_warnings
from kube.calls import Body, Call, PatchType
from kube.config import ClusterConfig
from kube.credentials import Identity, holder_of, impersonate
from kube.errors import Gone
from kube.kinds import AnyKind, Kind
from kube.sessions import Guard, Sessions
from kube.statuses import error_from_answer
from kube.transport import Answer

__all__ = ["AsyncGateway", "Body", "Listing", "Page", "PatchType", "Read"]

T = TypeVar("T", bound=Struct)

logger: Final = logging.getLogger(__name__)


class AsyncGateway:
    """The API server, as the service itself or as one user. Make it with :meth:`connect`."""

    def __init__(self, sessions: Sessions, identity: Identity, guard: Guard | None = None) -> None:
        self._sessions = sessions
        self._identity = identity
        self._guard = guard

    @classmethod
    def connect(
        cls, config: ClusterConfig, *, timeout: tuple[float, float] = (3.0, 10.0), pool_size: int = 32
    ) -> Self:
        """Make the gateway; nothing is sent yet, and no loop needs to run yet.

        ``timeout``: seconds to connect, and seconds without a byte. ``pool_size``: plain calls at once; more wait their turn. Streams
        of watches do not count.
        """
        logger.info("Requests to the API server go to %s", config.route)
        return cls(Sessions(config, timeout=timeout, pool_size=pool_size), Identity())

    def as_user(self, username: str, groups: Iterable[str]) -> AsyncGateway:
        """Act as the user by impersonation; the API server's RBAC decides what they may."""
        return AsyncGateway(self._sessions, impersonate(username, groups), self._guard)

    def with_token(self, token: str) -> AsyncGateway:
        """Act as the holder of the token (passthrough)."""
        return AsyncGateway(self._sessions, holder_of(token), self._guard)

    def guarded(self, guard: Guard) -> AsyncGateway:
        """Have the guard asked when a write is about to leave; what it raises makes the write Unavailable, and unsent."""
        return AsyncGateway(self._sessions, self._identity, guard)

    async def aclose(self) -> None:
        """Close the connections, those of every gateway that shares them too."""
        await self._sessions.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def get(self, kind: Kind[T], name: str, *, namespace: str | None = None) -> Read[T]:
        answer = await self._send(calls.get(kind, name, namespace=namespace))
        return read_object(kind, answer.body, warnings=read_warnings(answer.warnings))

    async def list(
        self,
        kind: Kind[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int = 500,
        continue_: str | None = None,
    ) -> Page[T]:
        """Read one page. Without a namespace: of all namespaces. Raise Gone when ``continue_`` is too old."""
        call = calls.list_page(
            kind,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
            continue_=continue_,
        )
        return read_page(kind, (await self._send(call)).body)

    async def list_all(
        self,
        kind: Kind[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int = 500,
    ) -> Listing[T]:
        """Read the whole list as of one resourceVersion.

        When the pages expire half-way the list starts again, and then in one piece, which cannot expire.
        """

        for page_size in (limit, 0, 0):
            try:
                return await self._whole(kind, namespace, label_selector, field_selector, page_size)
            except Gone:
                logger.info("The list of %s expired between two pages and starts again", kind.plural)
        return await self._whole(kind, namespace, label_selector, field_selector, 0)

    async def pages(
        self,
        kind: Kind[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int = 500,
    ) -> AsyncGenerator[Page[T], None]:
        """Yield the pages of one list; the next is asked for while the caller works on the last. Raise Gone when they expire."""

        def page(continue_: str | None) -> Coroutine[None, None, Page[T]]:
            return self.list(
                kind,
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                continue_=continue_,
            )

        current = await page(None)
        while current.continue_:
            ahead = asyncio.create_task(page(current.continue_))
            try:
                await asyncio.sleep(0)  # lets the request leave
                yield current
                current = await ahead
            finally:
                ahead.cancel()
                await asyncio.gather(ahead, return_exceptions=True)
        yield current

    async def _whole(
        self,
        kind: Kind[T],
        namespace: str | None,
        label_selector: str | None,
        field_selector: str | None,
        limit: int,
    ) -> Listing[T]:
        pages = self.pages(
            kind,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
        )
        async with aclosing(pages):
            return listing_of([page async for page in pages])

    async def lines(
        self,
        kind: AnyKind,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str,
        timeout_seconds: int,
        quiet_seconds: float,
    ) -> AsyncGenerator[bytes, None]:
        """Yield the lines of one watch stream as they come, until the server ends it after ``timeout_seconds``.

        Raise Unavailable when it breaks, or says nothing for ``quiet_seconds``. :mod:`kube.watching` makes events of the lines.
        """
        call = calls.watch(
            kind,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            timeout_seconds=timeout_seconds,
        )
        async with aclosing(self._sessions.lines(call, self._identity, quiet_seconds=quiet_seconds)) as lines:
            async for line in lines:
                yield line

    async def create(
        self, kind: Kind[T], body: Body, *, namespace: str | None = None, dry_run: bool = False
    ) -> Read[T]:
        """Create the object. Unknown fields are refused (BadRequest). A dry run is checked whole and stores nothing."""
        return await self._write(kind, calls.create(kind, body, namespace=namespace, dry_run=dry_run))

    async def replace(
        self,
        kind: Kind[T],
        body: Body,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        subresource: str | None = None,
    ) -> Read[T]:
        """Put the whole object in the place of the stored one; see :meth:`kube.gateway.Gateway.replace`."""
        call = calls.replace(kind, body, namespace=namespace, dry_run=dry_run, subresource=subresource)
        return await self._write(kind, call)

    async def patch(
        self,
        kind: Kind[T],
        name: str,
        patch: Body | Sequence[Mapping[str, Any]],
        *,
        namespace: str | None = None,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        force: bool = False,
    ) -> Read[T]:
        """Change parts of the object; see :meth:`kube.gateway.Gateway.patch`."""
        call = calls.patch(
            kind,
            name,
            patch,
            namespace=namespace,
            patch_type=patch_type,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            force=force,
        )
        return await self._write(kind, call)

    async def delete(
        self,
        kind: Kind[T],
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> Read[T] | None:
        """Delete the object; see :meth:`kube.gateway.Gateway.delete`."""
        call = calls.delete(
            kind, name, namespace=namespace, uid=uid, resource_version=resource_version, dry_run=dry_run
        )
        answer = await self._send(call)
        return read_deleted(kind, answer.body, warnings=read_warnings(answer.warnings))

    async def _write(self, kind: Kind[T], call: Call) -> Read[T]:
        answer = await self._send(call)
        return read_object(kind, answer.body, warnings=read_warnings(answer.warnings))

    async def _send(self, call: Call) -> Answer:
        answer = await self._sessions.send(call, self._identity, self._guard)
        if 200 <= answer.code < 300:
            return answer
        raise error_from_answer(answer.code, answer.body, retry_after=answer.retry_after)
