"""What one request asks for many times and must hear the same about: read once, forgotten with the request."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final, TypeVar, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase

T = TypeVar("T")

_read: Final[ContextVar[dict[Callable[[], Any], Any] | None]] = ContextVar("read", default=None)


def once_a_request(read: Callable[[], T]) -> Callable[[], T]:
    """Let a request call it once. Outside of requests (event streams, commands, tasks) every call reads anew."""

    @wraps(read)
    def remembered() -> T:
        known = _read.get()
        if known is None:
            return read()
        if read not in known:
            known[read] = read()
        return cast("T", known[read])

    return remembered


class OnceARequestMiddleware:
    """Begin and end what a request remembers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        token = _read.set({})
        try:
            return self.get_response(request)
        finally:
            _read.reset(token)
