"""Read and write objects of the cluster, for threads: the portal and its Celery workers.

One gateway per process, made after the fork (a gateway used in another process raises). Threads share it; ``as_user`` and
``with_token`` give others that share its connections. Raises :mod:`kube.errors` only. No call is retried, save a read on a
connection that died while idle, and a call answered 401 once the token has been read anew.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from msgspec import Struct

from kube import calls
from kube.answers import Listing, Page, Read, listing_of, read_deleted, read_object, read_page, read_warnings
from kube.calls import Body, Call, PatchType
from kube.config import ClusterConfig
from kube.credentials import Identity, holder_of, impersonate
from kube.errors import Gone
from kube.kinds import Kind
from kube.statuses import error_from_answer
from kube.transport import Answer, Transport

__all__ = ["Body", "Gateway", "Listing", "Page", "PatchType", "Read"]

T = TypeVar("T", bound=Struct)

logger: Final = logging.getLogger(__name__)


class Gateway:
    """The API server, as the service itself or as one user. Make it with :meth:`connect`."""

    def __init__(self, pools: Pools, identity: Identity) -> None:
        self._pools = pools
        self._identity = identity

    @classmethod
    def connect(
        cls, config: ClusterConfig, *, timeout: tuple[float, float] = (3.0, 10.0), pool_size: int = 16
    ) -> Self:
        """Make the gateway of this process; nothing is sent yet.

        ``timeout``: seconds to connect, and seconds without a byte. ``pool_size``: connections kept open, at least the number of
        threads.
        """
        logger.info("Requests to the API server go to %s", config.route)
        return cls(Pools(config, timeout=timeout, pool_size=pool_size), Identity())

    def as_user(self, username: str, groups: Iterable[str]) -> Gateway:
        """Act as the user by impersonation; the API server's RBAC decides what they may."""
        return Gateway(self._pools, impersonate(username, groups))

    def with_token(self, token: str) -> Gateway:
        """Act as the holder of the token (passthrough)."""
        return Gateway(self._pools, holder_of(token))

    def close(self) -> None:
        """Close the connections, those of every gateway that shares them too."""
        self._pools.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def get(self, kind: Kind[T], name: str, *, namespace: str | None = None) -> Read[T]:
        answer = self._send(calls.get(kind, name, namespace=namespace))
        return read_object(kind, answer.body, warnings=read_warnings(answer.warnings))

    def list(
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
        return read_page(kind, self._send(call).body)

    def list_all(
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

        def pages(page_size: int) -> Iterator[Page[T]]:
            continue_: str | None = None
            while continue_ != "":
                page = self.list(
                    kind,
                    namespace=namespace,
                    label_selector=label_selector,
                    field_selector=field_selector,
                    limit=page_size,
                    continue_=continue_,
                )
                yield page
                continue_ = page.continue_

        for page_size in (limit, 0, 0):
            try:
                return listing_of(pages(page_size))
            except Gone:
                logger.info("The list of %s expired between two pages and starts again", kind.plural)
        return listing_of(pages(0))

    def create(
        self, kind: Kind[T], body: Body, *, namespace: str | None = None, dry_run: bool = False
    ) -> Read[T]:
        """Create the object. Unknown fields are refused (BadRequest). A dry run is checked whole and stores nothing."""
        return self._write(kind, calls.create(kind, body, namespace=namespace, dry_run=dry_run))

    def replace(
        self,
        kind: Kind[T],
        body: Body,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        subresource: str | None = None,
    ) -> Read[T]:
        """Put the whole object in the place of the stored one: what the body lacks is removed, fields no model knows included.

        Raise Conflict when ``metadata.resourceVersion`` is another by now.
        """
        call = calls.replace(kind, body, namespace=namespace, dry_run=dry_run, subresource=subresource)
        return self._write(kind, call)

    def patch(
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
        """Change parts of the object. In a merge patch ``None`` removes a field and a list is replaced whole.

        Put ``metadata.resourceVersion`` into a merge patch to raise Conflict instead of writing over another's change. ``force``:
        an apply takes over fields of other managers.
        """
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
        return self._write(kind, call)

    def delete(
        self,
        kind: Kind[T],
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> Read[T] | None:
        """Delete the object. Give it as it is while finalizers keep it; ``None`` when it is gone.

        ``uid`` and ``resource_version`` are preconditions: Conflict when the object is another by now.
        """
        call = calls.delete(
            kind, name, namespace=namespace, uid=uid, resource_version=resource_version, dry_run=dry_run
        )
        answer = self._send(call)
        return read_deleted(kind, answer.body, warnings=read_warnings(answer.warnings))

    def _write(self, kind: Kind[T], call: Call) -> Read[T]:
        answer = self._send(call)
        return read_object(kind, answer.body, warnings=read_warnings(answer.warnings))

    def _send(self, call: Call) -> Answer:
        answer = self._pools.send(call, self._identity)
        if 200 <= answer.code < 300:
            return answer
        raise error_from_answer(answer.code, answer.body, retry_after=answer.retry_after)


class Pools:
    """The connections of a gateway and of all made from it. Users' own tokens travel without our client certificate."""

    def __init__(self, config: ClusterConfig, *, timeout: tuple[float, float], pool_size: int) -> None:
        self._config = config
        self._timeout = timeout
        self._pool_size = pool_size
        self._own = Transport(config, timeout=timeout, pool_size=pool_size)
        self._foreign = self._own if config.certificate_file is None else None
        self._lock = threading.Lock()

    def send(self, call: Call, identity: Identity) -> Answer:
        if not identity.is_own:
            return self._without_certificate().send(call, identity.headers(None))
        credentials = self._config.credentials
        authorization = credentials.authorization()
        answer = self._own.send(call, identity.headers(authorization))
        if answer.code != 401:
            return answer
        credentials.reload(authorization)
        renewed = credentials.authorization()
        return self._own.send(call, identity.headers(renewed)) if renewed != authorization else answer

    def close(self) -> None:
        self._own.close()
        if self._foreign is not None:
            self._foreign.close()

    def _without_certificate(self) -> Transport:
        with self._lock:
            if self._foreign is None:
                self._foreign = Transport(
                    self._config, timeout=self._timeout, pool_size=self._pool_size, has_certificate=False
                )
            return self._foreign
