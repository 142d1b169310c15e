"""Put objects into the mirror as the API server would have sent them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from kube import kinds
from kube.answers import Item, Listing
from kube.kinds import AnyKind
from kube.watching import Event, EventType
from portal import mirror
from portal.models import RECORDS

T = TypeVar("T", bound=Struct)

_KINDS = {record.KIND.model: record.KIND for record in RECORDS.values()}


def kind_of(obj: Struct) -> AnyKind:
    return _KINDS[type(obj)]


def at_version(obj: T, version: int | str, **metadata: Any) -> T:
    """Give the object with this resourceVersion, and other metadata where named."""
    meta = msgspec.structs.replace(obj.metadata, resource_version=str(version), **metadata)  # type: ignore[attr-defined]  # every kind has it
    return msgspec.structs.replace(obj, metadata=meta)


def raw(obj: Struct) -> bytes:
    return msgspec.json.encode(obj)


def show(*objects: Struct, at: datetime | None = None) -> None:
    """Mirror the objects. Those without a resourceVersion get 1."""
    for obj in objects:
        shown = obj if obj.metadata.resource_version else at_version(obj, 1)  # type: ignore[attr-defined]  # every kind has it
        mirror.apply(kind_of(shown), raw(shown), at=at)


def listing(kind: AnyKind, *objects: Struct, version: str = "100") -> Listing[Any]:
    return Listing([Item(obj, raw(obj)) for obj in objects], version)


def told(event_type: EventType, obj: Struct) -> tuple[AnyKind, Event[Any]]:
    """Give what a watch says about the object."""
    meta = obj.metadata  # type: ignore[attr-defined]  # every kind has it
    event = Event(event_type, obj, raw(obj), meta.resource_version, meta.namespace, meta.name, meta.uid)
    return kind_of(obj), event


def all_listed() -> list[tuple[AnyKind, Event[Any]]]:
    """Give the end of every kind's first list."""
    return [(record.KIND, Event(EventType.LISTED, resource_version="1")) for record in RECORDS.values()]


__all__ = ["all_listed", "at_version", "kind_of", "kinds", "listing", "raw", "show", "told"]
