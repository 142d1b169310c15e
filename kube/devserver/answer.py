"""Answers on the wire."""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

Send = Callable[[dict[str, Any]], Awaitable[None]]

JSON: Final = b"application/json"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Answer:
    """A whole answer: code, body and Warning headers."""

    body: bytes
    code: int = 200
    content_type: bytes = JSON
    warnings: tuple[str, ...] = ()
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @classmethod
    def of(cls, data: Any, *, code: int = 200, **rest: Any) -> Answer:
        return cls(_encode(data), code, **rest)

    async def send(self, send: Send) -> None:
        headers = [
            (b"content-type", self.content_type),
            (b"content-length", str(len(self.body)).encode()),
            (b"cache-control", b"no-cache, private"),
            *self.headers,
        ]
        # What cannot stand in a header is not told: the object is stored, and its answer has to arrive.
        for warning in filter(_fits_header, self.warnings):
            text = warning.replace("\\", "\\\\").replace('"', '\\"')
            headers.append((b"warning", f'299 - "{text}"'.encode()))
        await send({"type": "http.response.start", "status": self.code, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def _fits_header(text: str) -> bool:
    """Say whether there are no control characters in a text, and no halves of others."""
    return not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text)
