"""JSON in and out. Objects of the cluster are passed on as the bytes they came in, never decoded on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO, Any, Final

import msgspec
from django.http import HttpResponse
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from portal.api.etags import etag

JSON: Final = "application/json"


class StrictJSON(BaseParser):
    """One JSON object, with the line of the fault when it is none."""

    media_type = JSON

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return json_object(stream.read())


class MergePatch(StrictJSON):
    """A JSON merge patch (RFC 7396)."""

    media_type = "application/merge-patch+json"


def json_object(raw: bytes) -> dict[str, Any]:
    """Decode an object. Raises ParseError, in words."""
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise ParseError(f"This is not JSON: {error}.") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise ParseError("This is not JSON: it is not UTF-8, or nested too deeply.") from error
    if not isinstance(value, dict):
        raise ParseError("The body must be a JSON object.")
    return value


def object_answer(
    raw: bytes, *, resource_version: str, status: int = 200, warnings: Iterable[str] = ()
) -> HttpResponse:
    """Answer with one object of the cluster."""
    response = HttpResponse(raw, status=status, content_type=JSON)
    response["ETag"] = etag(resource_version)
    return with_warnings(response, warnings)


def json_answer(value: object, *, status: int = 200) -> HttpResponse:
    return HttpResponse(msgspec.json.encode(value), status=status, content_type=JSON)


def list_answer(items: Iterable[bytes], *, kind: str, api_version: str, next_token: str) -> HttpResponse:
    """Answer with a Kubernetes list of objects that are JSON already."""
    head = msgspec.json.encode(
        {"apiVersion": api_version, "kind": kind, "metadata": {"continue": next_token} if next_token else {}}
    )
    return HttpResponse(b"".join((head[:-1], b',"items":[', b",".join(items), b"]}")), content_type=JSON)


def with_member(raw: bytes, name: str, value: object) -> bytes:
    """Give the object with one more member at its end, without decoding it."""
    return b"".join(
        (raw.rstrip()[:-1], b",", msgspec.json.encode(name), b":", msgspec.json.encode(value), b"}")
    )


def with_warnings(response: HttpResponse, warnings: Iterable[str]) -> HttpResponse:
    """Pass on what the API server warned of, in the same header as it does."""
    lines = [f'299 - "{_quoted(text)}"' for text in warnings]
    if lines:
        response["Warning"] = ", ".join(lines)
    return response


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\n", " ")
