"""A list as a file: what the page shows, all of it, for a spreadsheet or for kubectl. It is sent while it is made."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import yaml
from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from portal.mirror.chunks import chunks

_NOISE: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


class _File(StreamingHttpResponse):
    """Made in a thread, a piece at a time: Django itself would make all of it before an asynchronous server sends the first byte."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = iter(self)
        while part := await sync_to_async(lambda: next(parts, b""))():
            yield part


class _Line:
    """What csv writes to: each line is handed on as it is made."""

    def write(self, line: str) -> str:
        return line


def csv_file(name: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> StreamingHttpResponse:
    """Give the rows as CSV. A text that a spreadsheet would take for a formula is marked as text."""
    writer = csv.writer(_Line())

    def lines() -> Iterator[str]:
        yield "\ufeff" + str(writer.writerow(heads))
        for row in rows:
            yield str(writer.writerow([_safe(value) for value in row]))

    return _file(lines(), f"{name}.csv", "text/csv; charset=utf-8")


def without_noise(body: dict[str, Any]) -> dict[str, Any]:
    """Leave out of an object what machines keep in it for themselves."""
    metadata = dict(body.get("metadata") or {})
    metadata.pop("managedFields", None)
    annotations = {
        name: value for name, value in (metadata.pop("annotations", None) or {}).items() if name not in _NOISE
    }
    if annotations:
        metadata["annotations"] = annotations
    return {**body, "metadata": metadata}


def as_yaml(document: Mapping[str, object]) -> str:
    """Write one document, its fields in the order given."""
    written: str = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)
    return written


def yaml_file(name: str, documents: Iterable[str]) -> StreamingHttpResponse:
    """Give the documents as one YAML file."""
    return _file(
        (f"---\n{document}" for document in documents), f"{name}.yaml", "application/yaml; charset=utf-8"
    )


def _file(lines: Iterable[str], filename: str, content_type: str) -> StreamingHttpResponse:
    response = _File(("".join(some) for some in chunks(lines)), content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def _safe(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
