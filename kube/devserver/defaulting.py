"""Walks over an object beside its structural schema: drop nulls, fill in defaults, prune what the schema does not know."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

Node = dict[str, Any]
"""One node of an openAPIV3Schema."""

ROOT_FIELDS: Final = ("apiVersion", "kind", "metadata")


def check_nodes(node: Any, path: str) -> None:
    """Raise ValueError where a schema is not made of nodes, or keywords that are walked have another type."""
    if not isinstance(node, dict):
        raise ValueError(f"{path or 'the schema'} is no object")
    properties = node.get("properties", {})
    if not isinstance(properties, dict):
        raise ValueError(f"{path}.properties is no object")
    for key, below in properties.items():
        check_nodes(below, f"{path}.properties[{key}]")
    for keyword in ("items", "not", "additionalProperties"):
        below = node.get(keyword)
        is_flag = keyword == "additionalProperties" and isinstance(below, bool)
        if keyword in node and not is_flag:
            check_nodes(below, f"{path}.{keyword}")
    for keyword in ("allOf", "anyOf", "oneOf", "x-kubernetes-validations"):
        below = node.get(keyword, [])
        if not isinstance(below, list):
            raise ValueError(f"{path}.{keyword} is no list")
        for index, child in enumerate(below):
            check_nodes(child, f"{path}.{keyword}[{index}]")


def _below(node: Node | None, key: str) -> Node | None:
    if node is None:
        return None
    found = node.get("properties", {}).get(key)
    if found is None and isinstance(node.get("additionalProperties"), dict):
        found = node["additionalProperties"]
    return found if found is None else dict(found)


def _is_dropped_null(value: Any, node: Node | None) -> bool:
    return value is None and node is not None and not node.get("nullable") and "default" not in node


def drop_nulls(value: Any, node: Node | None) -> None:
    """Remove nulls of fields that are not nullable and have no default."""
    if isinstance(value, dict):
        for key in list(value):
            below = _below(node, key)
            if _is_dropped_null(value[key], below):
                del value[key]
            else:
                drop_nulls(value[key], below)
    elif isinstance(value, list):
        items = node.get("items") if node else None
        for item in value:
            drop_nulls(item, items)


def fill_defaults(value: Any, node: Node) -> None:
    """Set absent fields that have a default, and nulls of fields that may not be null."""
    if isinstance(value, dict):
        for key, below in node.get("properties", {}).items():
            if "default" in below and (
                key not in value or (value[key] is None and not below.get("nullable"))
            ):
                value[key] = copy.deepcopy(below["default"])
            if key in value:
                fill_defaults(value[key], below)
        extra = node.get("additionalProperties")
        if isinstance(extra, dict):
            for key in value.keys() - node.get("properties", {}).keys():
                fill_defaults(value[key], extra)
    elif isinstance(value, list) and isinstance(node.get("items"), dict):
        for item in value:
            fill_defaults(item, node["items"])


def go_numbers(value: Any) -> Any:
    """Give a decoded value with whole numbers beyond 64 bits as floats, as the API server reads them."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(item, str):
                value[key] = go_numbers(item)
    elif isinstance(value, list):
        value[:] = [go_numbers(item) for item in value]
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def whole_numbers(value: Any) -> Any:
    """Write 1.0 as 1, as the API server's encoder does."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(item, str):
                value[key] = whole_numbers(item)
    elif isinstance(value, list):
        value[:] = [whole_numbers(item) for item in value]
    elif isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value


def _prune(value: Any, node: Node, path: str, *, is_root: bool) -> Iterator[str]:
    if isinstance(value, list):
        items = node.get("items")
        for index, item in enumerate(value):
            yield from _prune(
                item, items if isinstance(items, dict) else {}, f"{path}[{index}]", is_root=False
            )
        return
    if not isinstance(value, dict):
        return
    is_root = is_root or bool(node.get("x-kubernetes-embedded-resource"))
    properties, extra = node.get("properties", {}), node.get("additionalProperties")
    keep = node.get("x-kubernetes-preserve-unknown-fields")
    for key in list(value):
        if is_root and key in ROOT_FIELDS:
            continue
        below = f"{path}.{key}" if path else key
        if key in properties:
            yield from _prune(value[key], properties[key], below, is_root=False)
        elif isinstance(extra, dict):
            yield from _prune(value[key], extra, below, is_root=False)
        elif extra is not True and not keep:
            del value[key]
            yield below


def prune(value: Any, node: Node) -> list[str]:
    """Remove fields the schema does not know; give their paths in order."""
    return sorted(_prune(value, node, "", is_root=True))
