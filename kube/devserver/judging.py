"""Judge a value by its schema node as kube-apiserver's own validator does: the same checks, order, words and quirks.

Modelled on kube-openapi's pkg/validation. Where an expectation looks odd ("must be of type int32: \"float64\"", faults of the first
of several alternatives), it is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from jsonschema_rs import Draft7Validator

from kube.devserver.defaulting import Node
from kube.devserver.sameness import is_same
from kube.devserver.status import CauseType, FieldError, go_quoted

_SAFE: Final = 2**53
_INT_BITS: Final = {"int32": 31, "int64": 63}
_FORMATS: Final = frozenset({"date-time", "date", "uuid", "ipv4", "ipv6", "uri", "email", "hostname"})
NOTHING: Final = object()
"""Stands for an old value that is not there."""


@dataclass
class Found:
    """Faults, each once, and how many checks went well: of several alternatives the one that went best is told."""

    faults: dict[str, FieldError] = field(default_factory=dict)
    passed: int = 0

    def add(self, fault: FieldError) -> None:
        self.faults.setdefault(f"{fault.type} {fault}", fault)

    def merge(self, other: Found) -> None:
        self.faults.update(other.faults)
        self.passed += other.passed


def _general(detail: str) -> FieldError:
    """A fault of which the API server does not say the place in a field of its own."""
    return FieldError(CauseType.INVALID, "<nil>", "", detail)


def _kind(value: Any) -> tuple[str, str]:
    """Give the type of a decoded value and the format that goes with it in Go."""
    if isinstance(value, bool):
        return "boolean", ""
    names = {
        str: ("string", ""),
        int: ("integer", "int64"),
        float: ("number", "float64"),
        list: ("array", ""),
    }
    return names.get(type(value), ("object", ""))


class Shape:
    """One node of a schema with all nodes below it."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._types = self._types_of(node)
        self._format = node.get("format", "")
        self._properties = {key: Shape(below) for key, below in node.get("properties", {}).items()}
        extra, items = node.get("additionalProperties"), node.get("items")
        self._extra = Shape(extra) if isinstance(extra, dict) else None
        self._items = Shape(items) if isinstance(items, dict) else None
        self._any, self._one, self._all = (
            [Shape(below) for below in node.get(many, ())] for many in ("anyOf", "oneOf", "allOf")
        )
        self._not = Shape(node["not"]) if "not" in node else None

    @staticmethod
    def _types_of(node: Node) -> list[str]:
        if node.get("x-kubernetes-int-or-string"):
            return ["integer", "string"]
        return [node["type"]] if node.get("type") else []

    @cached_property
    def _text(self) -> Draft7Validator | None:
        """What a regular expression or a format decides."""
        wanted = {"pattern": self._node["pattern"]} if self._node.get("pattern") else {}
        return Draft7Validator(wanted) if wanted else None

    @cached_property
    def _formatted(self) -> Draft7Validator | None:
        return (
            Draft7Validator({"format": self._format}, validate_formats=True)
            if self._format in _FORMATS
            else None
        )

    def compile(self) -> None:
        """Compile every regular expression now. Raise ValueError for one that is none."""
        _ = self._text, self._formatted
        for below in self._below():
            below.compile()

    def _below(self) -> Iterator[Shape]:
        yield from self._properties.values()
        yield from (*self._any, *self._one, *self._all)
        yield from (below for below in (self._extra, self._items, self._not) if below is not None)

    def check(self, value: Any, path: str = "", old: Any = NOTHING) -> Found:
        """Judge a value. What it replaces lets faults pass where nothing changed; it is known below keys only."""
        found = Found()
        if old is not NOTHING and is_same(value, old):
            return found
        if value is None:
            found.merge(self._check_type(value, path))
            found.merge(self._check_enum(value, path))
            return found
        checks = [self._check_type(value, path)] if self._types or self._format else []
        checks.append(self._check_alternatives(value, path))
        if isinstance(value, str):
            checks.append(self._check_text(value, path))
            if self._formatted is not None:
                checks.append(self._check_format(value, path))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            checks.append(self._check_number(value, path))
        elif isinstance(value, list):
            checks.append(self._check_list(value, path, old))
        checks.append(self._check_enum(value, path))
        if isinstance(value, dict):
            checks.append(self._check_object(value, path, old))
        for check in checks:
            found.merge(check)
        found.passed += len(checks) + 1
        return found

    def _check_type(self, value: Any, path: str) -> Found:
        if value is None:
            if self._types and not self._node.get("nullable"):
                return _of(self._wrong_type(path, ",".join(self._types), "null"))
            return Found(passed=1)
        kind, format_ = _kind(value)
        is_whole = (
            kind == "number" and value.is_integer() and -_SAFE <= value < _SAFE and "integer" in self._types
        )
        fits = kind in self._types or is_whole or (kind == "integer" and "number" in self._types)
        is_textual = isinstance(value, str | list)
        if not is_textual and self._format and not (fits or format_ == self._format):
            return _of(self._wrong_type(path, self._format, format_))
        if is_textual and self._format and not {"number", "integer"} & set(self._types):
            return Found(passed=1)
        return Found(passed=1) if fits else _of(self._wrong_type(path, ",".join(self._types), kind))

    @staticmethod
    def _wrong_type(path: str, wanted: str, given: str) -> FieldError:
        detail = f"{path} in body must be of type {wanted}: {go_quoted(given)}"
        return FieldError(CauseType.TYPE_INVALID, path, given, detail)

    def _check_alternatives(self, value: Any, path: str) -> Found:
        found = Found(passed=1)
        if self._any:
            tried = _until_good(shape.check(value, path) for shape in self._any)
            if tried[-1].faults:
                found.add(_general(f"{go_quoted(path)} must validate at least one schema (anyOf)"))
            found.merge(tried[-1] if not tried[-1].faults else max(tried, key=lambda one: one.passed))
        if self._one:
            tried = [shape.check(value, path) for shape in self._one]
            good = [one for one in tried if not one.faults]
            if len(good) == 1:
                found.merge(good[0])
            else:
                told = f"Found {len(good)} valid alternatives" if good else "Found none valid"
                found.add(
                    _general(f"{go_quoted(path)} must validate one and only one schema (oneOf). {told}")
                )
                if not good:
                    found.merge(max(tried, key=lambda one: one.passed))
        if self._all:
            tried = [shape.check(value, path) for shape in self._all]
            for one in tried:
                found.merge(one)
            if any(one.faults for one in tried):
                told = ". None validated" if all(one.faults for one in tried) else ""
                found.add(_general(f"{go_quoted(path)} must validate all the schemas (allOf){told}"))
        if self._not is not None and not self._not.check(value, path).faults:
            found.add(_general(f"{go_quoted(path)} must not validate the schema (not)"))
        return found

    def _check_text(self, value: str, path: str) -> Found:
        longest, shortest = self._node.get("maxLength"), self._node.get("minLength")
        if longest is not None and len(value) > longest:
            noun = "byte" if longest == 1 else "bytes"
            return _of(FieldError(CauseType.TOO_LONG, path, detail=f"may not be more than {longest} {noun}"))
        if shortest is not None and len(value) < shortest:
            return _of(_bad(path, value, f"should be at least {shortest} chars long"))
        if self._text is not None and not self._text.is_valid(value):
            return _of(_bad(path, value, f"should match '{self._node['pattern']}'"))
        return Found()

    def _check_format(self, value: str, path: str) -> Found:
        if self._formatted is not None and not self._formatted.is_valid(value):
            return _of(self._wrong_type(path, self._format, value))
        return Found()

    def _check_number(self, value: float, path: str) -> Found:
        found, node = Found(passed=1), self._node
        if self._types == ["integer"]:
            bits = _INT_BITS.get(self._format, 63)
            exact = Decimal(repr(value))  # the shortest text of a float is what Go looks at
            if not (exact == exact.to_integral_value() and -(2**bits) <= exact < 2**bits):
                named = f"with format {self._format}" if self._format in _INT_BITS else "(default format)"
                found.add(_general(f"Checked value must be of type integer {named} in {path}"))
        factor, most, least = node.get("multipleOf"), node.get("maximum"), node.get("minimum")
        if factor is not None and value % factor != 0:
            found.add(_bad(path, value, f"should be a multiple of {_number(factor)}"))
        excludes = node.get("exclusiveMinimum") is True
        if least is not None and (value <= least if excludes else value < least):
            found.add(
                _bad(
                    path,
                    value,
                    f"should be greater than {'' if excludes else 'or equal to '}{_number(least)}",
                )
            )
        excludes = node.get("exclusiveMaximum") is True
        if most is not None and (value >= most if excludes else value > most):
            found.add(
                _bad(path, value, f"should be less than {'' if excludes else 'or equal to '}{_number(most)}")
            )
        return found

    def _check_list(self, value: list[Any], path: str, old: Any) -> Found:
        found, size, node = Found(passed=1), len(value), self._node
        if self._items is not None:
            for index, item in enumerate(value):
                found.merge(self._items.check(item, f"{path}[{index}]", self._counterpart(item, old)))
        if size < node.get("minItems", 0):
            found.add(_bad(path, size, f"should have at least {node['minItems']} items"))
        if size > node.get("maxItems", size):
            found.add(_too_many(path, size, node["maxItems"]))
        if node.get("uniqueItems") and any(item in value[:index] for index, item in enumerate(value)):
            found.add(_bad(path, "", "shouldn't contain duplicates"))
        return found

    def _counterpart(self, item: Any, old: Any) -> Any:
        """Find what a list item was before: only items of keyed lists have an identity."""
        keys = self._node.get("x-kubernetes-list-map-keys", ())
        if not keys or not isinstance(old, list) or not isinstance(item, dict):
            return NOTHING
        same = (one for one in old if all(one.get(key) == item.get(key) for key in keys))
        return next(same, NOTHING)

    def _check_enum(self, value: Any, path: str) -> Found:
        options = self._node.get("enum")
        if not options or any(
            value == option and isinstance(value, bool) == isinstance(option, bool) for option in options
        ):
            return Found()
        told = ", ".join(
            go_quoted(option) if isinstance(option, str) else f'"{option}"' for option in options
        )
        return _of(FieldError(CauseType.NOT_SUPPORTED, path, value, f"supported values: {told}"))

    def _check_object(self, value: dict[str, Any], path: str, old: Any) -> Found:
        found, size, node = Found(), len(value), self._node
        if size < node.get("minProperties", 0):
            found.add(_bad(path, size, f"should have at least {node['minProperties']} properties"))
        if size > node.get("maxProperties", size):
            found.add(_too_many(path, size, node["maxProperties"]))
        before = old if isinstance(old, dict) else {}
        for key, item in value.items():
            below = self._properties.get(key, self._extra)
            if below is not None:
                found.merge(below.check(item, f"{path}.{key}" if path else key, before.get(key, NOTHING)))
        for key in node.get("required", ()):
            if key not in value:
                found.add(FieldError(CauseType.REQUIRED, f"{path}.{key}" if path else key))
        return found


def _of(fault: FieldError) -> Found:
    found = Found()
    found.add(fault)
    return found


def _until_good(tries: Iterable[Found]) -> list[Found]:
    """Take them up to the first without faults."""
    taken = []
    for found in tries:
        taken.append(found)
        if not found.faults:
            break
    return taken


def _bad(path: str, value: Any, what: str) -> FieldError:
    return FieldError(CauseType.INVALID, path, value, f"{path} in body {what}")


def _too_many(path: str, size: int, most: int) -> FieldError:
    noun = "item" if most == 1 else "items"
    return FieldError(CauseType.TOO_MANY, path, size, f"must have at most {most} {noun}")


def _number(limit: float) -> str:
    return str(int(limit)) if float(limit).is_integer() else str(limit)
