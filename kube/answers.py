"""What comes back from the API server, decoded: one object, one page, a whole listing.

Every object travels with its own raw bytes, so that a reader that keeps the whole object (the mirror) needs no second encoding.
An item of a list that does not decode spoils that item only: it is reported in ``unreadable``, with its name where that can be
read, so that nobody takes it for deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from kube.errors import Unreadable
from kube.kinds import Kind

T = TypeVar("T", bound=Struct)

_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """One object as the server has it. ``warnings``: what the server wants a person to know (Warning headers)."""

    object: T
    raw: bytes
    warnings: tuple[str, ...] = ()


class Item(Struct, Generic[T], frozen=True, gc=False):
    """One object of a list."""

    object: T
    raw: bytes


class UnreadableItem(Struct, frozen=True, gc=False):
    """One object of a list that its model cannot decode. The names are "" where even they cannot be read."""

    raw: bytes
    error: str
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list. ``continue_`` is "" on the last one."""

    items: list[Item[T]]
    resource_version: str
    continue_: str = ""
    unreadable: list[UnreadableItem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A whole list as of one resourceVersion."""

    items: list[Item[T]]
    resource_version: str
    unreadable: list[UnreadableItem] = field(default_factory=list)


class _ListMeta(Struct, rename={"resource_version": "resourceVersion", "continue_": "continue"}):
    resource_version: str = ""
    continue_: str | None = None


class _List(Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None  # Go writes an empty list as null


class _NamesOnly(Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Named(Struct):
    """Of an object only what tells which one it is, so that nothing else can spoil that."""

    metadata: _NamesOnly


class _Typed(Struct):
    kind: str = ""


_list_decoder: Final = msgspec.json.Decoder(_List)
_typed_decoder: Final = msgspec.json.Decoder(_Typed)
_named_decoder: Final = msgspec.json.Decoder(_Named)


@lru_cache(maxsize=64)
def decoder_of(model: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(model)


def read_object(kind: Kind[T], body: bytes, *, warnings: tuple[str, ...] = ()) -> Read[T]:
    """Decode one object. Raise Unreadable when the body is empty or something else."""
    try:
        return Read(decoder_of(kind.model).decode(body), body, warnings)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"the answer is no readable {kind.name}: {error}", code=200) from error


def read_deleted(kind: Kind[T], body: bytes, *, warnings: tuple[str, ...] = ()) -> Read[T] | None:
    """Decode the answer to a delete: the object while finalizers keep it, ``None`` when it is gone."""
    if not body.strip():
        return None
    try:
        if _typed_decoder.decode(body).kind == "Status":
            return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(
            f"the answer to the delete of a {kind.name} is unreadable: {error}", code=200
        ) from error
    return read_object(kind, body, warnings=warnings)


def read_page(kind: Kind[T], body: bytes) -> Page[T]:
    """Decode one page of a list. Raise Unreadable when the list itself cannot be read."""
    try:
        envelope = _list_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"the answer is no list of {kind.plural}: {error}", code=200) from error
    decode = decoder_of(kind.model).decode
    items: list[Item[T]] = []
    unreadable: list[UnreadableItem] = []
    for raw in envelope.items or ():
        data = bytes(raw)  # a copy: a Raw would keep the whole page alive
        try:
            items.append(Item(decode(data), data))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            unreadable.append(unreadable_item(data, error))
    return Page(items, envelope.metadata.resource_version, envelope.metadata.continue_ or "", unreadable)


def unreadable_item(raw: bytes, error: Exception) -> UnreadableItem:
    """Report an object that does not decode, with its name where that can be read."""
    try:
        metadata = _named_decoder.decode(raw).metadata
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UnreadableItem(raw, str(error))
    return UnreadableItem(
        raw, str(error), metadata.namespace, metadata.name, metadata.uid, metadata.resource_version
    )


def listing_of(pages: Iterable[Page[Any]]) -> Listing[Any]:
    """Put the pages of one list together; their resourceVersion is that of the first."""
    items: list[Item[Any]] = []
    unreadable: list[UnreadableItem] = []
    resource_version = ""
    for page in pages:
        items += page.items
        unreadable += page.unreadable
        resource_version = resource_version or page.resource_version
    return Listing(items, resource_version, unreadable)


def read_warnings(values: Iterable[str]) -> tuple[str, ...]:
    """Read the texts of Warning headers (``299 - "text"``), each once, in order."""
    texts = (re.sub(r"\\(.)", r"\1", match[1]) for value in values for match in _WARNING.finditer(value))
    return tuple(dict.fromkeys(texts))
