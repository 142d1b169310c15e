"""A page of a table: sorted by a column, keyset pages, the address holding filter and order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from django.db.models import Expression, Model, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest, QueryDict

from portal.api.paging import page_request, rows_after, token_after
from portal.api.problems import BadParameter

PAGE_ROWS: Final = 100
CHUNK_ROWS: Final = 500

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Column:
    """One column. ``field`` is what it sorts by, "" for a column that does not sort; no null may stand in it.

    ``by`` computes it where it is no column of the database; that is done only when somebody sorts by it.
    """

    label: str
    field: str = ""
    css: str = ""
    by: Expression | Combinable | None = None


@dataclass(frozen=True)
class Head:
    """The head of one column. ``direction`` is aria-sort's word, "" when not sorted by it."""

    label: str
    css: str
    url: str
    direction: str


@dataclass(frozen=True, kw_only=True)
class ListPage(Generic[M]):
    """The rows of one page and the ways on. Empty addresses lead nowhere."""

    rows: Sequence[M]
    heads: tuple[Head, ...]
    first_url: str
    next_url: str
    sort: str


def list_page(
    request: HttpRequest,
    rows: QuerySet[M, Any],
    *,
    columns: Sequence[Column],
    sort: str,
    unique: Sequence[str],
    limit: int = PAGE_ROWS,
) -> ListPage[M]:
    """Give one page. ``sort`` is the order without a wish; ``unique`` are the fields that tell rows apart."""
    query = request.GET
    wished = _wished(query, columns, sort)
    rows, keys = _sorted(rows, columns, wished, unique)
    try:
        page = rows_after(rows, keys, page_request({"continue": query.get("after", "")}).after)
    except BadParameter:
        page = rows_after(rows, keys, ())
    found = list(page[: limit + 1])
    shown = found[:limit]
    next_url = ""
    if len(found) > limit:
        next_url = _address(query, after=token_after(_values(shown[-1], keys)))
    return ListPage(
        rows=shown,
        heads=tuple(_head(query, column, wished) for column in columns),
        first_url=_address(query, after="") if query.get("after") else "",
        next_url=next_url,
        sort=wished if wished != sort else "",
    )


def heads_of(request: HttpRequest, columns: Sequence[Column], *, sort: str) -> tuple[str, tuple[Head, ...]]:
    """Give the order that is wished for, and the heads, of a table that is sorted in memory and has one page."""
    wished = _wished(request.GET, columns, sort)
    return wished, tuple(_head(request.GET, column, wished) for column in columns)


def sorted_chunks(
    request: HttpRequest,
    rows: QuerySet[M, Any],
    *,
    columns: Sequence[Column],
    sort: str,
    unique: Sequence[str],
) -> Iterator[Sequence[M]]:
    """Give all rows in the order of the page, some at a time, for a file: to the last, and none is held open meanwhile."""
    rows, keys = _sorted(rows, columns, _wished(request.GET, columns, sort), unique)
    return _chunks(rows, keys)


def _chunks(rows: QuerySet[M, Any], keys: tuple[str, ...]) -> Iterator[Sequence[M]]:
    after: tuple[str, ...] = ()
    while found := list(rows_after(rows, keys, after)[:CHUNK_ROWS]):
        yield found
        if len(found) < CHUNK_ROWS:
            return
        after = tuple(map(str, _values(found[-1], keys)))


def _values(row: Model, keys: tuple[str, ...]) -> list[object]:
    """Give what the row is sorted by."""
    return [getattr(row, key.removeprefix("-")) for key in keys]


def _sorted(
    rows: QuerySet[M, Any], columns: Sequence[Column], wished: str, unique: Sequence[str]
) -> tuple[QuerySet[M, Any], tuple[str, ...]]:
    field = wished.removeprefix("-")
    by = next((column.by for column in columns if column.field == field), None)
    keys = (wished, *(name for name in unique if name != field))
    return (rows if by is None else rows.annotate(**{field: by})), keys


def _wished(query: QueryDict, columns: Sequence[Column], otherwise: str) -> str:
    wished = query.get("sort", otherwise)
    return wished if wished.removeprefix("-") in {c.field for c in columns if c.field} else otherwise


def _head(query: QueryDict, column: Column, wished: str) -> Head:
    if not column.field:
        return Head(column.label, column.css, "", "")
    is_sorted = wished.removeprefix("-") == column.field
    is_down = wished.startswith("-")
    direction = ("descending" if is_down else "ascending") if is_sorted else ""
    target = f"-{column.field}" if is_sorted and not is_down else column.field
    return Head(column.label, column.css, _address(query, sort=target, after=""), direction)


def _address(query: QueryDict, **changes: str) -> str:
    """Give the same address with some parameters changed; "" removes one."""
    changed = query.copy()
    for name, value in changes.items():
        if value:
            changed[name] = value
        else:
            changed.pop(name, None)
    return f"?{changed.urlencode()}"
