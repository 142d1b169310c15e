"""Kubernetes' protobuf encoding, read only, for the kinds that ``kubectl create`` sends in it.

kubectl encodes built-in kinds it has types for and takes JSON as an answer. Other kinds and other clients send JSON here; an
encoded kind that is not in the table is refused as an unsupported media type.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from kube.devserver.served import Object
from kube.devserver.status import bad_request, unsupported_media_type

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"

Field = tuple[str, str]
"""Name in JSON, and type: a scalar, a message of the table, ``[x]`` for repeated, ``{x}`` for a map from text."""

_MESSAGES: Final[dict[str, dict[int, Field]]] = {
    "TypeMeta": {1: ("apiVersion", "text"), 2: ("kind", "text")},
    "Unknown": {1: ("typeMeta", "TypeMeta"), 2: ("raw", "raw")},
    "ObjectMeta": {
        1: ("name", "text"),
        2: ("generateName", "text"),
        3: ("namespace", "text"),
        5: ("uid", "text"),
        6: ("resourceVersion", "text"),
        11: ("labels", "{text}"),
        12: ("annotations", "{text}"),
        14: ("finalizers", "[text]"),
    },
    "Quantity": {1: ("string", "text")},
    "Named": {1: ("name", "text")},
    "Namespace": {1: ("metadata", "ObjectMeta")},
    "ConfigMap": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "{text}"),
        3: ("binaryData", "{bytes}"),
        4: ("immutable", "bool"),
    },
    "Secret": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "{bytes}"),
        3: ("type", "text"),
        4: ("stringData", "{text}"),
        5: ("immutable", "bool"),
    },
    "ServiceAccount": {1: ("metadata", "ObjectMeta"), 3: ("imagePullSecrets", "[Named]")},
    "ResourceQuota": {1: ("metadata", "ObjectMeta"), 2: ("spec", "ResourceQuotaSpec")},
    "ResourceQuotaSpec": {1: ("hard", "{Quantity}"), 2: ("scopes", "[text]")},
    "PolicyRule": {
        1: ("verbs", "[text]"),
        2: ("apiGroups", "[text]"),
        3: ("resources", "[text]"),
        4: ("resourceNames", "[text]"),
        5: ("nonResourceURLs", "[text]"),
    },
    "LabelSelector": {1: ("matchLabels", "{text}")},
    "AggregationRule": {1: ("clusterRoleSelectors", "[LabelSelector]")},
    "Role": {1: ("metadata", "ObjectMeta"), 2: ("rules", "[PolicyRule]")},
    "ClusterRole": {
        1: ("metadata", "ObjectMeta"),
        2: ("rules", "[PolicyRule]"),
        3: ("aggregationRule", "AggregationRule"),
    },
    "Subject": {1: ("kind", "text"), 2: ("apiGroup", "text"), 3: ("name", "text"), 4: ("namespace", "text")},
    "RoleRef": {1: ("apiGroup", "text"), 2: ("kind", "text"), 3: ("name", "text")},
    "RoleBinding": {1: ("metadata", "ObjectMeta"), 2: ("subjects", "[Subject]"), 3: ("roleRef", "RoleRef")},
    "ClusterRoleBinding": {
        1: ("metadata", "ObjectMeta"),
        2: ("subjects", "[Subject]"),
        3: ("roleRef", "RoleRef"),
    },
    "ResourceAttributes": {
        1: ("namespace", "text"),
        2: ("verb", "text"),
        3: ("group", "text"),
        4: ("version", "text"),
        5: ("resource", "text"),
        6: ("subresource", "text"),
        7: ("name", "text"),
    },
    "NonResourceAttributes": {1: ("path", "text"), 2: ("verb", "text")},
    "SelfSubjectAccessReview": {1: ("metadata", "ObjectMeta"), 2: ("spec", "AccessSpec")},
    "AccessSpec": {
        1: ("resourceAttributes", "ResourceAttributes"),
        2: ("nonResourceAttributes", "NonResourceAttributes"),
    },
    "SelfSubjectRulesReview": {1: ("metadata", "ObjectMeta"), 2: ("spec", "InNamespace")},
    "InNamespace": {1: ("namespace", "text")},
    "SelfSubjectReview": {1: ("metadata", "ObjectMeta")},
}
_MAPS: Final = {kind: {1: ("key", "text"), 2: ("value", kind)} for kind in ("text", "bytes", "Quantity")}


def decode(data: bytes) -> Object:
    """Give the object of an encoded body. Raise 400 when it is broken, 415 when its kind is not in the table."""
    if not data.startswith(_MAGIC):
        raise bad_request("the body does not begin as Kubernetes protobuf does")
    try:
        envelope = _message(data[len(_MAGIC) :], _MESSAGES["Unknown"])
        type_meta: Object = envelope["typeMeta"]
        if type_meta["kind"] not in _MESSAGES:
            raise unsupported_media_type(MEDIA_TYPE, "application/json, application/yaml")
        return {**type_meta, **_message(envelope.get("raw", b""), _MESSAGES[type_meta["kind"]])}
    except (IndexError, KeyError, UnicodeDecodeError, ValueError) as error:
        raise bad_request(f"the protobuf body cannot be decoded: {error!r}") from error


def _message(data: bytes, fields: dict[int, Field]) -> Object:
    """Decode one message. Empty values are left out: the encoder writes them for every field that is not a pointer."""
    content: Object = {}
    for number, raw in _fields(data):
        if number not in fields:
            continue
        name, kind = fields[number]
        if kind.startswith("["):
            content.setdefault(name, []).append(_value(raw, kind[1:-1]))
        elif kind.startswith("{"):
            entry = _message(_bytes(raw), _MAPS[kind[1:-1]])
            content.setdefault(name, {})[entry.get("key", "")] = entry.get("value", "")
        elif (value := _value(raw, kind)) not in ("", b""):
            content[name] = value
    return content


def _value(raw: int | bytes, kind: str) -> Any:
    match kind:
        case "text":
            return _bytes(raw).decode()
        case "bytes":
            return base64.b64encode(_bytes(raw)).decode()
        case "raw":
            return _bytes(raw)
        case "bool":
            return bool(raw)
        case "Quantity":
            return _message(_bytes(raw), _MESSAGES[kind]).get("string", "0")
    return _message(_bytes(raw), _MESSAGES[kind])


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise ValueError("a number where a text or message belongs")
    return raw


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Split a message into field numbers and undecoded values."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire_type == 2:
            length, position = _varint(data, position)
        elif wire_type in (1, 5):
            length = 8 if wire_type == 1 else 4
        else:
            raise ValueError(f"wire type {wire_type}")
        if position + length > len(data):
            raise ValueError("the message is cut off")
        yield number, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
