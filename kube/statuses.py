"""From an answer that is no success to the error that names it.

The one home of "which HTTP status and which Status.reason mean what". Both gateways and the watch ask here.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec
from msgspec import Struct

from kube.errors import (
    AdmissionUnavailable,
    AlreadyExists,
    BadRequest,
    Cause,
    Conflict,
    Denied,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    NotServed,
    Unauthorized,
    Unavailable,
    Unexpected,
)

SHOWN_CHARACTERS: Final = 256
_DENIED: Final = re.compile(r'admission webhook ".*" denied the request', re.DOTALL)
_WEBHOOK_UNREACHED: Final = "failed calling webhook"
_MARKUP: Final = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_BY_CODE: Final[Mapping[int, type[KubeError]]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotServed,
    408: Unavailable,
    410: Gone,
    422: Invalid,
    429: Unavailable,
}


class _StatusCause(Struct):
    reason: str | None = None
    field: str | None = None
    message: str | None = None


class _StatusDetails(Struct, rename="camel"):
    name: str | None = None
    causes: list[_StatusCause] | None = None
    retry_after_seconds: int | None = None


class _Status(Struct):
    kind: str | None = None
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _StatusDetails | None = None


_decoder: Final = msgspec.json.Decoder(_Status)


def error_from_answer(
    code: int, body: bytes, *, retry_after: str | None = None, now: datetime | None = None
) -> KubeError:
    """Give the error for an HTTP answer. ``now`` is needed only to read a Retry-After given as a date."""
    status = _status_in(body)
    wait_seconds = retry_after_seconds(retry_after, now=now or datetime.now(UTC))
    if status is None:
        return _error_without_status(code, body, wait_seconds)
    return _error_from_status(code, status, wait_seconds)


def error_from_event(body: bytes) -> KubeError:
    """Give the error for the object of an ERROR event inside a watch stream."""
    status = _status_in(body)
    if status is None:
        return Unexpected(f"the watch reported an error that is no Status: {_excerpt(body)}")
    return _error_from_status(status.code or 0, status, None)


def retry_after_seconds(value: str | None, *, now: datetime) -> int | None:
    """Read a Retry-After header, seconds or HTTP date, rounded up; ``None`` when absent or unreadable."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return int(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    if at.tzinfo is None:  # "-0000": the sender does not know its zone; HTTP dates are GMT
        at = at.replace(tzinfo=UTC)
    return max(0, math.ceil((at - now).total_seconds()))


def _status_in(body: bytes) -> _Status | None:
    try:
        status = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return status if status.kind == "Status" else None


def _error_from_status(code: int, status: _Status, wait_seconds: int | None) -> KubeError:
    message = status.message or status.reason or f"HTTP {code}"
    reason = status.reason or ""
    details = status.details or _StatusDetails()
    return _kind_of_error(code, reason, message, named=details.name or "")(
        message,
        code=code,
        reason=reason,
        causes=tuple(
            Cause(reason=cause.reason or "", field=cause.field or "", message=cause.message or "")
            for cause in details.causes or ()
        ),
        retry_after_seconds=wait_seconds if wait_seconds is not None else details.retry_after_seconds,
    )


def _kind_of_error(code: int, reason: str, message: str, *, named: str) -> type[KubeError]:
    if code >= 500:
        return AdmissionUnavailable if _WEBHOOK_UNREACHED in message else Unavailable
    if 400 <= code < 500 and _DENIED.search(message):
        return Denied
    if code == 409:
        return {"Conflict": Conflict, "AlreadyExists": AlreadyExists}.get(reason, Denied)
    if code == 404 and reason == "NotFound" and named:
        return NotFound  # for a path that is not served the API server has the same reason, but no name
    return _BY_CODE.get(code, Unexpected)


def _error_without_status(code: int, body: bytes, wait_seconds: int | None) -> KubeError:
    """A proxy or balancer answered, or the path is not served: only the code can be trusted."""
    kind = Unavailable if code >= 500 else _BY_CODE.get(code, Unexpected)
    said = _excerpt(body)
    message = f"HTTP {code}: {said}" if said else f"HTTP {code} without a body"
    return kind(message, code=code, retry_after_seconds=wait_seconds)


def _excerpt(body: bytes) -> str:
    """Give what a person could read of a body, cut short so that logs do not leak."""
    text = _MARKUP.sub(" ", body[: 16 * SHOWN_CHARACTERS].decode("utf-8", "replace"))
    return " ".join(text.split())[:SHOWN_CHARACTERS]


def error_without_answer(error: BaseException, *, server: str) -> Unavailable:
    """Give the error for a call that got no whole answer. The caller chains the original."""
    return Unavailable(f"no answer from {server}: {_why(error)}")


def _why(error: BaseException) -> str:
    """Name the innermost cause: the outer ones speak of pools and objects at addresses."""
    chain = [error]
    while True:
        inner = chain[-1].__cause__ or chain[-1].__context__
        if inner is None or inner in chain:
            break
        chain.append(inner)
    for link in reversed(chain):
        if isinstance(link, TimeoutError):
            return "timed out"
        if isinstance(link, ConnectionError) and link.errno:
            return os.strerror(link.errno)  # asyncio words its own, with addresses
        if isinstance(link, OSError) and (said := link.strerror or str(link)):
            return said
    return str(error) or type(error).__name__
