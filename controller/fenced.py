"""The gateway as a leader may use it: every write is preceded by a check that the lease is still ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct

from controller.leader import Leadership
from gpu.corekinds import ObjectMeta
from gpu.resources import to_json
from kube.aio import AsyncGateway
from kube.answers import Read
from kube.kinds import Kind

T = TypeVar("T", bound=Struct)

CONNECTIONS: Final = 32
WRITES_AT_ONCE: Final = 24


class FencedGateway:
    """Reads freely; raises LeaseLost instead of writing once the lease is not ours.

    A patch or a status here always names the resourceVersion it was computed from: the API server answers Conflict when the object
    has changed since. The check is made again when the bytes are about to leave, as a process may be stopped while it connects.
    Fewer writes are under way at once than there are connections: renewing the lease never waits for them.
    """

    def __init__(self, gateway: AsyncGateway, leadership: Leadership) -> None:
        self._gateway = gateway.guarded(leadership.require)
        self._leadership = leadership
        self._turns = asyncio.Semaphore(WRITES_AT_ONCE)

    async def get(self, kind: Kind[T], name: str, *, namespace: str | None = None) -> Read[T]:
        return await self._gateway.get(kind, name, namespace=namespace)

    async def create(self, kind: Kind[T], body: Mapping[str, Any] | Struct) -> Read[T]:
        async with self._turns:
            self._leadership.require()
            return await self._gateway.create(kind, body)

    async def replace(self, kind: Kind[T], body: Mapping[str, Any] | Struct) -> Read[T]:
        async with self._turns:
            self._leadership.require()
            return await self._gateway.replace(kind, body)

    async def replace_status(self, kind: Kind[T], metadata: ObjectMeta, status: Struct) -> Read[T]:
        """Put the status in the place of the stored one. Of a custom object the API server keeps the rest, whatever is sent of it."""
        body = {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {
                "name": metadata.name,
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
            },
            "status": to_json(status),
        }
        async with self._turns:
            self._leadership.require()
            return await self._gateway.replace(
                kind, body, namespace=metadata.namespace or None, subresource="status"
            )

    async def patch(
        self,
        kind: Kind[T],
        name: str,
        change: Mapping[str, Any],
        *,
        resource_version: str,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Read[T]:
        """Send a merge patch; members that are None are removed."""
        metadata = {**change.get("metadata", {}), "resourceVersion": resource_version}
        async with self._turns:
            self._leadership.require()
            return await self._gateway.patch(
                kind, name, {**change, "metadata": metadata}, namespace=namespace, subresource=subresource
            )

    async def delete(self, kind: Kind[T], name: str, *, uid: str) -> None:
        async with self._turns:
            self._leadership.require()
            await self._gateway.delete(kind, name, uid=uid)
