"""How an object's change is written: on the version it was computed from, and the answer taken in at once."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from controller.fenced import FencedGateway
from controller.world import World
from gpu.corekinds import ObjectMeta
from kube.answers import Read
from kube.errors import Conflict, NotFound
from kube.kinds import Kind

T = TypeVar("T", bound=Struct)


class Writes:
    """Writes changes of watched objects and tells the world what came of it."""

    def __init__(self, gateway: FencedGateway, world: World) -> None:
        self._gateway = gateway
        self._world = world

    async def status(self, kind: Kind[T], metadata: ObjectMeta, status: Struct) -> T | None:
        """Write the whole status of a custom object. For the API server that is less work than to change parts of it."""
        return await self._settle(kind, metadata, self._gateway.replace_status(kind, metadata, status))

    async def status_members(
        self, kind: Kind[T], metadata: ObjectMeta, change: Mapping[str, Any]
    ) -> T | None:
        """Change the status members given; the others belong to somebody else."""
        return await self._patch(kind, metadata, {"status": change}, subresource="status")

    async def metadata(self, kind: Kind[T], metadata: ObjectMeta, change: Mapping[str, Any]) -> T | None:
        """Change the metadata members given."""
        return await self._patch(kind, metadata, {"metadata": change}, subresource=None)

    async def _patch(
        self, kind: Kind[T], metadata: ObjectMeta, change: Mapping[str, Any], *, subresource: str | None
    ) -> T | None:
        patched = self._gateway.patch(
            kind,
            metadata.name,
            change,
            resource_version=metadata.resource_version,
            namespace=metadata.namespace or None,
            subresource=subresource,
        )
        return await self._settle(kind, metadata, patched)

    async def _settle(self, kind: Kind[T], metadata: ObjectMeta, written: Awaitable[Read[T]]) -> T | None:
        """Give the object as it is now, or None when it is gone.

        Raises Conflict when it has changed since; what it says now is then known, and whoever computed the change looks again.
        """
        try:
            answer = await written
        except (Conflict, NotFound):
            # A write's 404 may be about the namespace, which objects can outlive, or the subresource: only reading tells.
            if await self._is_gone(kind, metadata):
                return None
            raise
        self._world.wrote(kind, answer.object)
        return answer.object

    async def _is_gone(self, kind: Kind[T], metadata: ObjectMeta) -> bool:
        """Look again, and take in what there is. What is taken for gone is sold again, so an answer in doubt is raised."""
        try:
            current = await self._gateway.get(kind, metadata.name, namespace=metadata.namespace or None)
        except NotFound:
            self._world.is_gone(kind, metadata)
            return True
        self._world.wrote(kind, current.object)
        return False
