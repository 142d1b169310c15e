"""Read JSON as the API server does: broken text is mended, long numbers are floats, and a field given twice is noticed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kube.devserver.defaulting import go_numbers

_LONG_NUMBER: Final = re.compile(rb"\d{19}")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"


def read_json(body: bytes) -> Any:
    """Decode. Raises ValueError or RecursionError for what is no JSON."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Invalid UTF-8 and half surrogates become replacement characters in Go.
        text = body.decode("utf-8", "replace")
        found = _mended(json.loads(text, parse_constant=_refuse, parse_float=_float))
    return go_numbers(found) if _LONG_NUMBER.search(body) else found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _float(text: str) -> float:
    if (value := float(text)) in (float("inf"), float("-inf")):
        raise ValueError(f"cannot unmarshal number {text} into Go value of type float64")
    return value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATES.sub(_REPLACEMENT, value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value


class _Repeating(dict[str, Any]):
    """An object in which fields were given twice."""

    twice: tuple[str, ...] = ()


def repeated_fields(body: bytes) -> list[str]:
    """Give the paths of fields that a JSON document gives more than once."""
    is_any_repeated = False

    def take(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal is_any_repeated
        taken = dict(pairs)
        if len(taken) == len(pairs):
            return taken
        is_any_repeated = True
        repeating, names = _Repeating(taken), [name for name, _ in pairs]
        repeating.twice = tuple(name for name in taken if names.count(name) > 1)
        return repeating

    document = json.loads(body.decode("utf-8", "replace"), object_pairs_hook=take)
    return list(_repeated(document, "")) if is_any_repeated else []


def _repeated(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value, _Repeating):
            yield from (f"{path}.{name}" if path else name for name in value.twice)
        for key, item in value.items():
            yield from _repeated(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _repeated(item, f"{path}[{index}]")
