"""Every verb as the request it is on the wire: method, target, body. Pure; both gateways send what is built here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from kube.errors import BadRequest, NotFound
from kube.kinds import AnyKind

Body = Mapping[str, Any] | Struct
"""An object to send. ``apiVersion`` and ``kind`` are filled in."""

FIELD_MANAGER: Final = "gpu-portal"
_JSON: Final = "application/json"
_STRICT: Final = ("fieldValidation", "Strict")
_ORDINARY: Final = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.:]*")
"""What nearly every name is; it needs no quoting and cannot lead to another path."""
_encoder: Final = msgspec.json.Encoder()


class PatchType(StrEnum):
    """How a patch is read. Always sent explicitly: a list sent as a merge patch would be refused, or worse, accepted."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Call:
    """One request. ``target`` is the path with its query, already quoted."""

    method: str
    target: str
    body: bytes | None = None
    content_type: str = _JSON


def get(kind: AnyKind, name: str, *, namespace: str | None) -> Call:
    return Call("GET", _object_path(kind, name, namespace))


def list_page(
    kind: AnyKind,
    *,
    namespace: str | None,
    label_selector: str | None,
    field_selector: str | None,
    limit: int,
    continue_: str | None,
) -> Call:
    """One page, read consistently (no resourceVersion is sent). ``limit`` 0 asks for everything at once."""
    query = [
        *_selectors(label_selector, field_selector),
        *([("limit", str(limit))] if limit else []),
        *([("continue", continue_)] if continue_ else []),
    ]
    return Call("GET", _with_query(_collection_path(kind, namespace), query))


def watch(
    kind: AnyKind,
    *,
    namespace: str | None,
    label_selector: str | None,
    field_selector: str | None,
    resource_version: str,
    timeout_seconds: int,
) -> Call:
    query = [
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", resource_version),
        ("timeoutSeconds", str(timeout_seconds)),
        *_selectors(label_selector, field_selector),
    ]
    return Call("GET", _with_query(_collection_path(kind, namespace), query))


def create(kind: AnyKind, body: Body, *, namespace: str | None, dry_run: bool) -> Call:
    if kind.namespaced and namespace is None:
        raise BadRequest(f"a {kind.name} is created in a namespace")
    query = [_STRICT, *_dry_run(dry_run)]
    return Call("POST", _with_query(_collection_path(kind, namespace), query), _encode_object(kind, body))


def replace(
    kind: AnyKind, body: Body, *, namespace: str | None, dry_run: bool, subresource: str | None
) -> Call:
    data = _encode_object(kind, body)
    try:
        metadata = _named_decoder.decode(data).metadata
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body does not name a {kind.name}: {error}") from error
    path = _object_path(kind, metadata.name, namespace or metadata.namespace or None, subresource)
    return Call("PUT", _with_query(path, [_STRICT, *_dry_run(dry_run)]), data)


def patch(
    kind: AnyKind,
    name: str,
    patch: Body | Sequence[Mapping[str, Any]],
    *,
    namespace: str | None,
    patch_type: PatchType,
    subresource: str | None,
    dry_run: bool,
    field_manager: str | None,
    force: bool,
) -> Call:
    if (patch_type is PatchType.JSON) is not isinstance(patch, Sequence):
        raise BadRequest("a JSON patch is a list of operations, every other patch an object")
    query = [_STRICT, *_dry_run(dry_run)]
    if patch_type is PatchType.APPLY:
        field_manager = field_manager or FIELD_MANAGER
        query += [("force", "true")] if force else []
    query += [("fieldManager", field_manager)] if field_manager else []
    if patch_type is PatchType.APPLY and isinstance(patch, Mapping | Struct):
        data = _encode_object(kind, patch)
    else:
        data = _encode(patch)
    path = _object_path(kind, name, namespace, subresource)
    return Call("PATCH", _with_query(path, query), data, str(patch_type))


def delete(
    kind: AnyKind,
    name: str,
    *,
    namespace: str | None,
    uid: str | None,
    resource_version: str | None,
    dry_run: bool,
) -> Call:
    """All options go into the body: the API server ignores the query of a delete that has one, ``dryRun`` included."""
    preconditions = {
        key: value for key, value in (("uid", uid), ("resourceVersion", resource_version)) if value
    }
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        **({"preconditions": preconditions} if preconditions else {}),
        **({"dryRun": ["All"]} if dry_run else {}),
    }
    path = _object_path(kind, name, namespace)
    return Call("DELETE", _with_query(path, _dry_run(dry_run)), _encode(options))


class _NamedMeta(Struct):
    name: str = ""
    namespace: str = ""


class _Named(Struct):
    metadata: _NamedMeta


_named_decoder: Final = msgspec.json.Decoder(_Named)


def _encode(value: object) -> bytes:
    try:
        return _encoder.encode(value)
    except (UnicodeError, OverflowError, ValueError) as error:  # a lone surrogate, an integer beyond 64 bits
        raise BadRequest(f"the body cannot be written as JSON: {error}") from error


def _encode_object(kind: AnyKind, body: Body) -> bytes:
    if isinstance(body, Struct):
        head = _encode({"apiVersion": kind.api_version, "kind": kind.name})
        return head[:-1] + b"," + _encode(body)[1:]
    return _encode({**body, "apiVersion": kind.api_version, "kind": kind.name})


def _object_path(kind: AnyKind, name: str, namespace: str | None, subresource: str | None = None) -> str:
    if not name:  # the path of the collection: a delete would empty it
        raise BadRequest(f"no name of a {kind.name} is given")
    if kind.namespaced and namespace is None:
        raise BadRequest(f"a {kind.name} is found by namespace and name")
    return kind.path(namespace=_segment(namespace), name=_segment(name), subresource=_segment(subresource))


def _collection_path(kind: AnyKind, namespace: str | None) -> str:
    return kind.path(namespace=_segment(namespace))


def _segment(text: str | None) -> str | None:
    """Quote one part of a path. Raise NotFound for what can be no object's name and would change the path."""
    if text is None or _ORDINARY.fullmatch(text):
        return text
    if text in ("", ".", "..") or "/" in text or "%" in text:
        raise NotFound(f"nothing is named {text!r}", code=404, reason="NotFound")
    return quote(text, safe=":", errors="replace")


def _selectors(label_selector: str | None, field_selector: str | None) -> list[tuple[str, str]]:
    pairs = (("labelSelector", label_selector), ("fieldSelector", field_selector))
    return [(key, value) for key, value in pairs if value]


def _dry_run(dry_run: bool) -> list[tuple[str, str]]:
    return [("dryRun", "All")] if dry_run else []


def _with_query(path: str, query: Sequence[tuple[str, str]]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
