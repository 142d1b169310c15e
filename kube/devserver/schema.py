"""One version's openAPIV3Schema, compiled once: clean an incoming object, then judge it as the API server does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

from jsonschema_rs import Draft7Validator

from kube.devserver.cel import Rules
from kube.devserver.defaulting import Node, drop_nulls, fill_defaults, prune, whole_numbers
from kube.devserver.status import BLOCKING, CauseType, FieldError

_INT_RANGES: Final = {"int32": 2**31, "int64": 2**63}
_KEPT_FORMATS: Final = {"date-time", "date", "uuid", "ipv4", "ipv6", "uri", "email", "hostname"}
_COPIED: Final = (
    "enum", "maximum", "minimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems",
    "multipleOf", "maxProperties", "minProperties", "required",
)  # fmt: skip


def _json_schema(node: Node) -> Any:
    """Translate a structural schema to JSON Schema."""
    if node.get("x-kubernetes-int-or-string"):
        types: Any = ["integer", "string"]
    else:
        types = node.get("type")
    out: dict[str, Any] = {key: node[key] for key in _COPIED if key in node}
    if types:
        out["type"] = [
            *([types] if isinstance(types, str) else types),
            *(["null"] if node.get("nullable") else []),
        ]
    for bound in ("Maximum", "Minimum"):
        if node.get(f"exclusive{bound}") is True:
            out[f"exclusive{bound}"] = out.pop(bound.lower())
    if limit := _INT_RANGES.get(node.get("format", "")):
        # Beside the schema's own bounds, so that the two faults can be told apart.
        out["allOf"] = [{"minimum": -limit, "maximum": limit - 1}]
    elif node.get("format") in _KEPT_FORMATS:
        out["format"] = node["format"]
    for many in ("allOf", "anyOf", "oneOf"):
        if many in node and not (many == "anyOf" and node.get("x-kubernetes-int-or-string")):
            out[many] = out.get(many, []) + [_json_schema(child) for child in node[many]]
    if "not" in node:
        out["not"] = _json_schema(node["not"])
    if "properties" in node:
        out["properties"] = {key: _json_schema(child) for key, child in node["properties"].items()}
    if isinstance(node.get("additionalProperties"), dict):
        out["additionalProperties"] = _json_schema(node["additionalProperties"])
    if isinstance(node.get("items"), dict):
        out["items"] = _json_schema(node["items"])
    return out


def join_path(steps: list[Any]) -> str:
    """Write a path as kube does: members with dots, list positions in brackets."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names[type(value)]


_SENTENCES: Final = {
    "minimum": "should be greater than or equal to {}",
    "maximum": "should be less than or equal to {}",
    "exclusiveMinimum": "should be greater than {}",
    "exclusiveMaximum": "should be less than {}",
    "minLength": "should be at least {} chars long",
    "pattern": "should match '{}'",
    "minItems": "should have at least {} items",
    "minProperties": "should have at least {} properties",
    "multipleOf": "should be a multiple of {}",
}


def _fault(error: Any, node: Any) -> FieldError | None:
    """Word one finding of the validator. ``node`` is the JSON schema it was found at."""
    *way, keyword = list(error.schema_path)
    where = join_path(list(error.instance_path))
    value, limit = error.instance, node.get(keyword) if isinstance(node, dict) else None
    if "allOf" in way and keyword in ("minimum", "maximum"):
        width = "int32" if abs(limit or 0) <= 2**31 else "int64"
        detail = f"Checked value must be of type integer with format {width} in {where}"
        return FieldError(CauseType.INVALID, "<nil>", "", detail)
    match keyword:
        case "required":
            missing = f"{where}.{error.kind.property}" if where else error.kind.property
            return FieldError(CauseType.REQUIRED, missing)
        case "type":
            wanted = ",".join(name for name in limit or () if name != "null")
            given = _type_name(value)
            detail = f'{where} in body must be of type {wanted}: "{given}"'
            return FieldError(CauseType.TYPE_INVALID, where, given, detail)
        case "enum":
            options = ", ".join(f'"{option}"' for option in limit or ())
            return FieldError(CauseType.NOT_SUPPORTED, where, value, f"supported values: {options}")
        case "maxLength":
            noun = "byte" if limit == 1 else "bytes"
            return FieldError(CauseType.TOO_LONG, where, detail=f"may not be more than {limit} {noun}")
        case "maxItems" | "maxProperties":
            noun = "item" if limit == 1 else "items"
            return FieldError(CauseType.TOO_MANY, where, len(value), f"must have at most {limit} {noun}")
        case "format":
            detail = f'{where} in body must be of type {node["format"]}: "{value}"'
            return FieldError(CauseType.INVALID, where, value, detail)
    if keyword in _SENTENCES:
        return FieldError(
            CauseType.INVALID, where, value, f"{where} in body {_SENTENCES[keyword].format(limit)}"
        )
    return FieldError(CauseType.INVALID, where, value, f"{where} in body {error.message}")


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
    def _json(self) -> Any:
        root = _json_schema(self.node)
        for name, type_name in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
            root.setdefault("properties", {}).setdefault(name, {"type": type_name})
        return root

    @cached_property
    def _validator(self) -> Draft7Validator:
        return Draft7Validator(self._json, validate_formats=True)

    @cached_property
    def _rules(self) -> Rules:
        return Rules(self.node)

    def compile(self) -> None:
        """Compile now. Raise ValueError when the schema or a rule is not understood."""
        _ = self._validator, self._rules

    def clean(self, content: dict[str, Any]) -> list[str]:
        """Drop nulls, prune, fill in defaults, in place. Give the paths of unknown fields that were dropped."""
        unknown = prune(content, self.node)
        drop_nulls(content, self.node)
        fill_defaults(content, self.node)
        whole_numbers(content, self.node)
        return unknown

    def faults(
        self, content: dict[str, Any], old: dict[str, Any] | None, *, already: list[FieldError]
    ) -> list[FieldError]:
        """Judge an object that was cleaned. ``old`` is what it replaces; ``already`` are faults of its metadata."""
        found = [] if self._validator.is_valid(content) else list(self._shape_faults(content, old))
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

    def _shape_faults(self, content: Any, old: Any) -> Iterator[FieldError]:
        for error in self._validator.iter_errors(content):
            if old is not None and _unchanged(list(error.instance_path), content, old):
                continue
            fault = _fault(error, self._schema_at(list(error.schema_path)[:-1]))
            if fault is not None:
                yield fault

    def _schema_at(self, steps: list[Any]) -> Any:
        node = self._json
        for step in steps:
            node = node[step]
        return node


def _unchanged(path: list[Any], content: Any, old: Any) -> bool:
    """Say whether the value at a path is as it was: faults of unchanged values are let pass.

    Items of lists have no identity across an update, so a fault inside a list passes only with the whole list unchanged.
    """
    now, before = content, old
    for step in path:
        if isinstance(step, int):
            break
        if not isinstance(before, dict) or step not in before:
            return False
        now, before = now[step], before[step]
    return bool(path) and bool(now == before)
