"""Keyset pages: the same cost for the first and the last page, no row twice and none left out while others come and go.

A page is asked for with ``limit`` and ``continue``. The token holds the keys of the last row of the page before, so it never expires.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec
from django.core.exceptions import ValidationError
from django.db.models import Field, Model, Q, QuerySet

from portal.api.problems import BadParameter

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 500
_MOST_DIGITS: Final = 9

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class PageRequest:
    """How many rows, and after which keys (empty: from the start)."""

    limit: int = DEFAULT_LIMIT
    after: tuple[str, ...] = ()


def page_request(parameters: Mapping[str, str]) -> PageRequest:
    """Read ``limit`` and ``continue``. Raises BadParameter."""
    text = parameters.get("limit", "")
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    if text and not (is_number and 1 <= int(text) <= MAX_LIMIT):
        raise BadParameter("limit", f"must be a whole number from 1 to {MAX_LIMIT}")
    token = parameters.get("continue", "")
    return PageRequest(int(text) if text else DEFAULT_LIMIT, _decode(token) if token else ())


def token_after(keys: Sequence[object]) -> str:
    """Give the token of the page that begins after the row with these keys."""
    return base64.urlsafe_b64encode(msgspec.json.encode([str(key) for key in keys])).decode().rstrip("=")


def raw_page(
    rows: QuerySet[M, Any], keys: tuple[str, ...], wanted: PageRequest
) -> tuple[list[tuple[Any, ...]], str]:
    """Give the page as tuples of the keys and the body, and the token of the next page ("" after the last)."""
    columns = [key.removeprefix("-") for key in keys]
    found = list(rows_after(rows, keys, wanted.after).values_list(*columns, "body")[: wanted.limit + 1])
    page = found[: wanted.limit]
    return page, token_after(page[-1][: len(keys)]) if len(found) > len(page) else ""


def rows_after(rows: QuerySet[M, Any], keys: tuple[str, ...], after: tuple[str, ...]) -> QuerySet[M, Any]:
    """Order by ``keys`` ("-" in front: descending; the last one unique among equals) and start after a row.

    Raises BadParameter when the token was made for another list.
    """
    rows = rows.order_by(*keys)
    if not after:
        return rows
    if len(after) != len(keys):
        raise _bad_token()
    steps = [_step(rows, key, text) for key, text in zip(keys, after, strict=True)]
    if len(steps) == 1:
        return rows.filter(**{f"{name}__{lookup}": value for name, lookup, value in steps})
    beyond = Q()
    for index, (name, lookup, value) in enumerate(steps):
        equal = Q(**{earlier: same for earlier, _, same in steps[:index]})
        beyond |= equal & Q(**{f"{name}__{lookup}": value})
    name, lookup, value = steps[0]
    # Said on its own, the bound of the first key lets the database start in the middle of the index.
    return rows.filter(Q(**{f"{name}__{lookup}e": value}), beyond)


def _step(rows: QuerySet[M, Any], key: str, text: str) -> tuple[str, str, object]:
    name = key.removeprefix("-")
    try:
        value = _field_of(rows, name).to_python(text)
        if isinstance(value, datetime):
            value = _moment(value)
    except (ValidationError, OverflowError):
        raise _bad_token() from None
    return name, "lt" if key.startswith("-") else "gt", value


def _moment(value: datetime) -> datetime:
    """Give the moment as databases keep it. Raises OverflowError for one that no calendar in UTC has."""
    if value.tzinfo is None:
        raise _bad_token()
    return value.astimezone(UTC)


def _field_of(rows: QuerySet[M, Any], name: str) -> Field[Any, Any]:
    """Give the type of a key: a column, or what the query was annotated with."""
    if name in rows.query.annotations:
        return rows.query.annotations[name].output_field
    return rows.model._meta.get_field(name)  # type: ignore[return-value]  # a column, no relation


def _decode(token: str) -> tuple[str, ...]:
    try:
        keys = msgspec.json.decode(
            base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)), type=tuple[str, ...]
        )
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise _bad_token() from None
    if not keys or any("\0" in key for key in keys):
        raise _bad_token()
    return keys


def _bad_token() -> BadParameter:
    return BadParameter("continue", "is not a token of this list; start again without it")
