"""Failures as the API server words them: each becomes a Status object on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

UNSET: Final = object()
"""A bad value that is not shown."""


class CauseType(StrEnum):
    """Status.details.causes[].reason of field errors, with the words that open the message."""

    INVALID = "FieldValueInvalid"
    TYPE_INVALID = "FieldValueTypeInvalid"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"


_OPENING: Final = {
    CauseType.INVALID: "Invalid value",
    CauseType.TYPE_INVALID: "Invalid value",
    CauseType.REQUIRED: "Required value",
    CauseType.DUPLICATE: "Duplicate value",
    CauseType.NOT_SUPPORTED: "Unsupported value",
    CauseType.FORBIDDEN: "Forbidden",
    CauseType.TOO_LONG: "Too long",
    CauseType.TOO_MANY: "Too many",
}
_SHOW_NO_VALUE: Final = {CauseType.REQUIRED, CauseType.FORBIDDEN, CauseType.TOO_LONG}
BLOCKING: Final = {
    CauseType.NOT_SUPPORTED,
    CauseType.REQUIRED,
    CauseType.TOO_LONG,
    CauseType.TOO_MANY,
    CauseType.TYPE_INVALID,
}
"""Causes after which the rules of a schema are not evaluated any more."""


@dataclass(frozen=True)
class FieldError:
    """One fault of an object. ``field`` is a path such as ``spec.tolerations[1].key``."""

    type: CauseType
    field: str
    value: Any = UNSET
    detail: str = ""

    @property
    def body(self) -> str:
        text = _OPENING[self.type]
        if self.type not in _SHOW_NO_VALUE and self.value is not UNSET:
            text += f": {go_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def go_quoted(text: str) -> str:
    """Print text as Go's %q does."""
    return '"' + "".join(_ESCAPES.get(letter) or _shown(letter) for letter in text) + '"'


def _shown(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_value(value: Any) -> str:
    """Print a value as Go's field errors do: text quoted, the rest as JSON."""
    if isinstance(value, str):
        return go_quoted(value)
    if isinstance(value, float) and value.is_integer():
        return f"{value:e}" if abs(value) >= 1e21 else str(int(value))
    return msgspec.json.encode(value).decode()


class ApiError(Exception):
    """A request that ends in a failure Status."""

    def __init__(
        self, code: int, reason: str, message: str, *, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details:
            body["details"] = self.details
        body["code"] = self.code
        return body


def qualified(group: str, plural: str) -> str:
    return f"{plural}.{group}" if group else plural


def _details(group: str, kind: str, name: str) -> dict[str, Any]:
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}


def not_found(group: str, plural: str, name: str) -> ApiError:
    message = f'{qualified(group, plural)} "{name}" not found'
    return ApiError(404, "NotFound", message, details=_details(group, plural, name))


def no_such_path() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(group: str, plural: str, name: str) -> ApiError:
    message = f'{qualified(group, plural)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, details=_details(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return ApiError(409, "Conflict", message, details=_details(group, plural, name))


MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def forbidden(group: str, plural: str, name: str, why: str) -> ApiError:
    subject = qualified(group, plural)
    if name:
        subject += f' "{name}"'
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {why}", details=_details(group, plural, name))


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """Refuse an object for its fields; every fault is a cause."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = _details(group, kind, name)
    details["causes"] = [
        {"reason": error.type.value, "message": error.body, "field": error.field} for error in errors
    ]
    return ApiError(
        422, "Invalid", f"{qualified(group, kind)} {go_quoted(name)} is invalid: {told}", details=details
    )


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def method_not_allowed(group: str, plural: str, action: str) -> ApiError:
    message = f'{action} is not supported on resources of kind "{qualified(group, plural)}"'
    return ApiError(405, "MethodNotAllowed", message, details=_details(group, plural, ""))


def unsupported_media_type(given: str, supported: str) -> ApiError:
    message = f"the body of the request was in an unknown format - accepted media types include: {supported}"
    return ApiError(415, "UnsupportedMediaType", message if given else f"{message} (none was named)")


def internal(message: str) -> ApiError:
    return ApiError(500, "InternalError", f"Internal error occurred: {message}")
