"""One version's openAPIV3Schema, compiled once: clean an incoming object, then judge it as the API server does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from kube.devserver.cel import Rules
from kube.devserver.defaulting import Node, drop_nulls, fill_defaults, prune
from kube.devserver.judging import NOTHING, Shape
from kube.devserver.status import BLOCKING, CauseType, FieldError


def _repeated(node: Node, value: Any, path: str = "") -> Iterator[FieldError]:
    """Find what occurs twice in lists that are sets or maps."""
    if isinstance(value, dict):
        extra = node.get("additionalProperties")
        for key, item in value.items():
            if below := node.get("properties", {}).get(key):
                yield from _repeated(below, item, f"{path}.{key}" if path else key)
            elif isinstance(extra, dict):
                yield from _repeated(extra, item, f"{path}[{key}]")
    elif isinstance(value, list):
        kind = node.get("x-kubernetes-list-type")
        keys = node.get("x-kubernetes-list-map-keys", ())
        seen: list[Any] = []
        for index, item in enumerate(value):
            mark: Any = item
            if kind == "map" and isinstance(item, dict):
                mark = {key: item[key] for key in keys if key in item}
            if kind in ("set", "map") and seen.count(mark) == 1:
                yield FieldError(CauseType.DUPLICATE, f"{path}[{index}]", mark)
            seen.append(mark)
            if isinstance(node.get("items"), dict):
                yield from _repeated(node["items"], item, f"{path}[{index}]")


class Schema:
    """Answers for one version of a custom resource. Compiling is put off to the first object."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @cached_property
    def _shape(self) -> Shape:
        fields = {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
        }
        return Shape({**self.node, "properties": {**fields, **self.node.get("properties", {})}})

    @cached_property
    def _rules(self) -> Rules:
        return Rules(self.node)

    def compile(self) -> None:
        """Compile now. Raise ValueError when the schema or a rule is not understood."""
        self._shape.compile()
        _ = self._rules

    def clean(self, content: dict[str, Any]) -> list[str]:
        """Drop nulls, prune, fill in defaults, in place. Give the paths of unknown fields that were dropped."""
        unknown = prune(content, self.node)
        drop_nulls(content, self.node)
        fill_defaults(content, self.node)
        return unknown

    def faults(
        self, content: dict[str, Any], old: dict[str, Any] | None, *, already: list[FieldError]
    ) -> list[FieldError]:
        """Judge an object that was cleaned. ``old`` is what it replaces; ``already`` are faults of its metadata."""
        found = list(self._shape.check(content, old=NOTHING if old is None else old).faults.values())
        if old is None or not any(_repeated(self.node, old)):
            found += _repeated(self.node, content)
        return found + self._rule_faults(content, old, already + found)

    def _rule_faults(self, content: Any, old: Any, found: list[FieldError]) -> list[FieldError]:
        if any(fault.type in BLOCKING for fault in found):
            detail = (
                "some validation rules were not checked because the object was invalid; "
                "correct the existing errors to complete validation"
            )
            return [FieldError(CauseType.INVALID, "<nil>", None, detail)] if self._rules else []
        return list(self._rules.faults(content, old))
