"""OpenAPI v3 documents: enough for kubectl to validate, apply and explain."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from kube.devserver.answer import Answer
from kube.devserver.served import Catalogue, Object, Served

_PREFIX: Final = "/openapi/v3"
_WRITE_PARAMETERS: Final = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]
_PATCH_TYPES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
)


def _path_of(entry: Served) -> str:
    root = f"/apis/{entry.group}/{entry.version}" if entry.group else f"/api/{entry.version}"
    scope = "/namespaces/{namespace}" if entry.namespaced else ""
    return f"{root}{scope}/{entry.plural}"


def _schema_name(entry: Served) -> str:
    domain = ".".join(reversed((entry.group or "core.k8s.io").split(".")))
    return f"{domain}.{entry.version}.{entry.kind}"


def _schema(entry: Served) -> Object:
    node: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if entry.schema is not None:
        node = dict(entry.schema.node)
    properties = dict(node.get("properties", {}))
    for name in ("apiVersion", "kind"):
        properties.setdefault(name, {"type": "string"})
    properties["metadata"] = {
        "description": "Standard object's metadata.",
        "allOf": [{"$ref": f"#/components/schemas/{_OBJECT_META}"}],
        "default": {},
    }
    node["properties"] = properties
    node["x-kubernetes-group-version-kind"] = [_gvk(entry)]
    return node


_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_META_SCHEMA: Final = {
    "description": "ObjectMeta is metadata that all persisted resources must have.",
    "type": "object",
    "properties": {
        "annotations": _TEXTS,
        "creationTimestamp": {"type": "string", "format": "date-time"},
        "deletionTimestamp": {"type": "string", "format": "date-time"},
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "generateName": {"type": "string"},
        "generation": {"type": "integer", "format": "int64"},
        "labels": _TEXTS,
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "ownerReferences": {"type": "array", "items": {"type": "object"}},
        "resourceVersion": {"type": "string"},
        "uid": {"type": "string"},
    },
}


def _gvk(entry: Served) -> Object:
    return {"group": entry.group, "version": entry.version, "kind": entry.kind}


def _operation(entry: Served, action: str, *, writes: bool) -> Object:
    reference = {"$ref": f"#/components/schemas/{_schema_name(entry)}"}
    operation: Object = {
        "operationId": f"{action}{entry.kind}{entry.version}",
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(entry),
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}},
    }
    if writes:
        operation["parameters"] = _WRITE_PARAMETERS
        types: tuple[str, ...] = _PATCH_TYPES if action == "patch" else ("*/*",)
        body: Any = {"type": "object"} if action == "patch" else reference
        operation["requestBody"] = {"content": {name: {"schema": body} for name in types}, "required": True}
    return operation


def _document(entries: list[Served]) -> Object:
    paths: dict[str, Object] = {}
    schemas: dict[str, Object] = {_OBJECT_META: _META_SCHEMA}
    for entry in entries:
        schemas[_schema_name(entry)] = _schema(entry)
        collection: Object = {"post": _operation(entry, "post", writes=True)}
        if "list" in entry.verbs:
            collection["get"] = _operation(entry, "list", writes=False)
        paths[_path_of(entry)] = collection
        if "get" in entry.verbs:
            paths[f"{_path_of(entry)}/{{name}}"] = {
                "get": _operation(entry, "get", writes=False),
                "put": _operation(entry, "put", writes=True),
                "patch": _operation(entry, "patch", writes=True),
                "delete": _operation(entry, "delete", writes=False),
            }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.0-devserver"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def openapi(catalogue: Catalogue, path: str) -> Answer | None:
    """Answer a path below /openapi/v3, or give None when it is none."""
    if path != _PREFIX and not path.startswith(f"{_PREFIX}/"):
        return None
    documents: dict[str, list[Served]] = {}
    for entry in catalogue.all():
        root = f"apis/{entry.group}/{entry.version}" if entry.group else f"api/{entry.version}"
        documents.setdefault(root, []).append(entry)
    wanted = path.removeprefix(_PREFIX).strip("/")
    if wanted:
        return Answer.of(_document(documents[wanted])) if wanted in documents else None
    return Answer.of(
        {
            "paths": {
                root: {"serverRelativeURL": f"{_PREFIX}/{root}?hash={_hash(entries)}"}
                for root, entries in documents.items()
            }
        }
    )


def _hash(entries: list[Served]) -> str:
    return hashlib.sha256(msgspec.json.encode(_document(entries))).hexdigest()[:32].upper()
