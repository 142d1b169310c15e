"""Server-side apply in its simple form: what the applied object names is set, everything else stays.

Fields are not owned: nobody conflicts, and leaving a field out later does not remove it. Lists are merged by key where the schema
says they are maps, and replaced whole otherwise.
"""

from __future__ import annotations

from typing import Any

from kube.devserver.defaulting import Node
from kube.devserver.patches import MERGE_KEYS
from kube.devserver.served import Object


def apply(old: Object, wanted: Object, node: Node | None) -> Object:
    """Give the stored object with the applied one laid over it."""
    merged: Object = _lay_over(old, wanted, node)
    return merged


def _lay_over(old: Any, wanted: Any, node: Node | None, field: str = "") -> Any:
    if isinstance(wanted, dict) and isinstance(old, dict):
        result = dict(old)
        properties = (node or {}).get("properties", {})
        for key, value in wanted.items():
            result[key] = _lay_over(old.get(key), value, properties.get(key), key)
        return result
    if isinstance(wanted, list) and isinstance(old, list):
        keys = _keys(node, field)
        if keys:
            return _merge_items(old, wanted, keys, (node or {}).get("items"))
    return wanted


def _keys(node: Node | None, field: str) -> tuple[str, ...]:
    if node is not None:
        return tuple(node.get("x-kubernetes-list-map-keys") or ())
    return (MERGE_KEYS[field],) if field in MERGE_KEYS else ()


def _merge_items(old: list[Any], wanted: list[Any], keys: tuple[str, ...], node: Node | None) -> list[Any]:
    def mark(item: Any) -> tuple[Any, ...]:
        return tuple(item.get(key) for key in keys) if isinstance(item, dict) else (item,)

    result = list(old)
    places = {mark(item): index for index, item in enumerate(result)}
    for item in wanted:
        place = places.get(mark(item))
        if place is None:
            result.append(item)
        else:
            result[place] = _lay_over(result[place], item, node)
    return result
