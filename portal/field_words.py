"""What the API server says about a field, in words for people.

Messages of a schema's own rules are written for people and stay; what the server makes up about types, ranges and patterns is
rewritten, and put at the field it is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

_NOWHERE: Final = frozenset({"", "<nil>"})
_INVALID: Final = re.compile(
    r'^Invalid value: (?:"(?:[^"\\]|\\.)*": |-?[\d.eE+]+: |(?:true|false|null|\{.*?\}|\[.*?\]): )?', re.S
)
_IN_BODY: Final = re.compile(r"^\S+ in body ")
_INT32: Final = re.compile(r"^Checked value must be of type integer with format int32 in (?P<field>\S+)$")
_UNKNOWN: Final = re.compile(r'(unknown|duplicate) field "(?P<field>[^"]+)"')
_UNCHECKED: Final = "some validation rules were not checked"
_TYPES: Final = {
    "integer": "must be a whole number",
    "string": "must be text",
    "boolean": "must be true or false",
    "array": "must be a list",
    "object": "must be an object",
}
_NAME: Final = "must be lower-case letters, digits and dashes, and begin and end with a letter or digit"
_PATTERNS: Final = {
    "name": _NAME,
    "className": _NAME,
    "setName": _NAME,
    "memory": "must be an amount such as 48Gi, without spaces",
    "resourceName": "must be vendor/name such as nvidia.com/AD102GL_L40S: a lower-case vendor, one slash, no spaces",
    "key": "must be a taint's key such as nvidia.com/gpu; = and : do not belong in it",
    "value": "must be letters, digits, dashes, dots and underscores, without quotes",
}
_OTHER_PATTERN: Final = "has characters that cannot be used here"

_RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"^must be of type (\w+)\b.*", re.S), lambda m: _TYPES.get(m[1], f"must be of type {m[1]}")),
    (re.compile(r"^should be greater than or equal to (\S+)$"), lambda m: f"must be at least {m[1]}"),
    (re.compile(r"^should be less than or equal to (\S+)$"), lambda m: f"must be at most {m[1]}"),
    (re.compile(r"^should be at least 1 chars long$"), lambda m: "must not be empty"),
    (re.compile(r"^should be at least (\d+) chars long$"), lambda m: f"must have at least {m[1]} characters"),
    (
        re.compile(r"^(?:Too long: )?may not be (?:longer|more) than (\d+)(?: bytes| characters)?.*$"),
        lambda m: f"is too long: at most {m[1]} characters",
    ),
    (
        re.compile(r"^Too many: .*must have at most (\d+) items?$"),
        lambda m: f"has too many entries: at most {m[1]}",
    ),
    (
        re.compile(r"^Unsupported value: .*?: supported values: (.*)$", re.S),
        lambda m: f"must be one of {m[1].replace(chr(34), '')}",
    ),
    (re.compile(r"^Required value.*$", re.S), lambda m: "is required"),
    (re.compile(r"^Forbidden: (.*)$", re.S), lambda m: m[1]),
    (re.compile(r"^a lowercase RFC 1123 .*$", re.S), lambda m: _NAME),
    (
        re.compile(r"^must be no more than (\d+) (?:bytes|characters)$"),
        lambda m: f"is too long: at most {m[1]} characters",
    ),
)


def field_words(causes: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Word (field, message) pairs of a Status. A field is "" when the message is about the whole."""
    worded = [_worded(field, message) for field, message in causes if _UNCHECKED not in message]
    return tuple(dict.fromkeys(worded))


def unknown_fields(message: str) -> tuple[tuple[str, str], ...]:
    """Read the fields out of a strict decoding error; nothing when it is another message."""
    return tuple(
        (found["field"], "is given twice" if found[1] == "duplicate" else "is not a known field")
        for found in _UNKNOWN.finditer(message)
    )


def _worded(field: str, message: str) -> tuple[str, str]:
    text = _INVALID.sub("", message, count=1)
    if number := _INT32.match(text):
        return number["field"], "must be a whole number, at most 2147483647"
    if field in _NOWHERE:
        field = "metadata.name" if text.startswith("GPUClass name ") else ""
    text = _IN_BODY.sub("", text, count=1)
    if text.startswith("should match "):
        return field, _PATTERNS.get(field.rpartition(".")[2], _OTHER_PATTERN)
    for pattern, words in _RULES:
        if found := pattern.match(text):
            return field, words(found)
    return field, text
