"""What a watch has told its reader so far, and the events that bring the reader up to date.

Pure bookkeeping: an object that arrives, one line of a stream, the end of a list, each becomes the events a reader must hear. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from gpu.corekinds import ObjectMeta
from kube.answers import Page, UnreadableItem, decoder_of, unreadable_item
from kube.errors import KubeError, Unreadable
from kube.kinds import Kind, Opaque, metadata_of
from kube.statuses import error_from_event

T = TypeVar("T", bound=Struct)


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


class Picture(Generic[T]):
    """The objects of one kind that the reader knows of."""

    def __init__(self, kind: Kind[T]) -> None:
        self._kind = kind
        self._decode = decoder_of(kind.model).decode
        self._uids: dict[tuple[str, str], str] = {}
        self._seen: set[tuple[str, str]] = set()
        self._has_nameless = False

    def start_list(self) -> None:
        """From here on, what :meth:`page` does not bring is missing when :meth:`end_list` comes."""
        self._seen = set()
        self._has_nameless = False

    def page(self, page: Page[T]) -> Iterator[Event[T]]:
        """Tell of every object of a page."""
        for item in page.items:
            metadata = metadata_of(item.object)
            self._seen.add((metadata.namespace, metadata.name))
            yield from self._arrived(metadata, item.object, item.raw)
        for unreadable in page.unreadable:
            self._seen.add((unreadable.namespace, unreadable.name))
            self._has_nameless = self._has_nameless or not unreadable.name
            yield from self._unreadable(unreadable)

    def end_list(self, version: str) -> Iterator[Event[T]]:
        """Tell of what is gone since the list before, and that the picture is complete.

        An object so spoilt that not even its name can be read might be any of them: then nothing is taken for gone.
        """
        for key in [key for key in self._uids if key not in self._seen and not self._has_nameless]:
            uid = self._uids.pop(key)
            yield Event(EventType.DELETED, namespace=key[0], name=key[1], uid=uid, resource_version=version)
        self._seen = set()
        yield Event(EventType.LISTED, resource_version=version)

    def line(self, line: bytes) -> Iterator[Event[T]]:
        """Tell of one line of a stream. Raise Unreadable when it is no event, and the error that an ERROR event stands for."""
        try:
            told = _line_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unreadable(f"the watch of {self._kind.plural} sent what is no event: {error}") from error
        raw = bytes(told.object)
        if told.type == "ERROR":
            raise error_from_event(raw)
        if told.type not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK"):
            raise Unreadable(
                f"the watch of {self._kind.plural} sent an event of the unknown type {told.type!r}"
            )
        try:
            if told.type == "BOOKMARK":
                version = _opaque_decoder.decode(raw).metadata.resource_version
                yield Event(EventType.ALIVE, resource_version=version)
                return
            decoded = self._decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield from self._unreadable_told(told.type, unreadable_item(raw, error))
            return
        metadata = metadata_of(decoded)
        if told.type == "DELETED":
            self._uids.pop((metadata.namespace, metadata.name), None)
            yield _event(EventType.DELETED, metadata, decoded, raw)
        else:
            yield from self._arrived(metadata, decoded, raw)

    def _arrived(self, metadata: ObjectMeta, decoded: T, raw: bytes) -> Iterator[Event[T]]:
        """Tell of an object that exists. One deleted and made anew under its name unnoticed is first told of as deleted."""
        key = (metadata.namespace, metadata.name)
        known_uid = self._uids.get(key)
        if known_uid is not None and known_uid != metadata.uid:
            yield Event(EventType.DELETED, namespace=key[0], name=key[1], uid=known_uid)
            known_uid = None
        self._uids[key] = metadata.uid
        yield _event(EventType.ADDED if known_uid is None else EventType.MODIFIED, metadata, decoded, raw)

    def _unreadable_told(self, told_type: str, item: UnreadableItem) -> Iterator[Event[T]]:
        """Tell of an event whose object does not decode; a deletion stays one, as long as it says of what."""
        if told_type != "DELETED" or not item.name:
            yield from self._unreadable(item)
            return
        uid = self._uids.pop((item.namespace, item.name), "") or item.uid
        yield Event(EventType.DELETED, None, item.raw, item.resource_version, item.namespace, item.name, uid)

    def _unreadable(self, item: UnreadableItem) -> Iterator[Event[T]]:
        """Tell of an object that exists and does not decode; as with one that does, one of its name may have gone before."""
        key = (item.namespace, item.name)
        known_uid = self._uids.get(key, "")
        if known_uid and item.uid and known_uid != item.uid:
            yield Event(EventType.DELETED, namespace=key[0], name=key[1], uid=known_uid)
        if item.name:
            self._uids[key] = item.uid or known_uid
        yield Event(
            EventType.UNREADABLE,
            None,
            item.raw,
            item.resource_version,
            item.namespace,
            item.name,
            item.uid,
            Unreadable(item.error),
        )


def _event(event_type: EventType, metadata: ObjectMeta, decoded: T, raw: bytes) -> Event[T]:
    return Event(
        event_type, decoded, raw, metadata.resource_version, metadata.namespace, metadata.name, metadata.uid
    )
