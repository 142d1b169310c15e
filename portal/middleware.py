"""What happens to every request, whichever page it is for."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import structlog
from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from portal import answers, signed_out
from portal.address import client_address

GetResponse = Callable[[HttpRequest], HttpResponseBase]

REQUEST_ID_HEADER: Final = "X-Request-ID"
_GOOD_ID: Final = re.compile(r"[A-Za-z0-9._-]{8,64}\Z")
_ESCAPED_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_PERMISSIONS: Final = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


class RequestIdMiddleware:
    """Give every request an id, in the answer and in every log line. One that a proxy made is kept."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get(REQUEST_ID_HEADER, "")
        request_id = given if settings.TRUSTED_PROXIES and _GOOD_ID.match(given) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]  # declared by PortalRequest
        with structlog.contextvars.bound_contextvars(request_id=request_id, address=client_address(request)):
            response = self.get_response(request)
        response.headers[REQUEST_ID_HEADER] = request_id
        response.headers.setdefault("Permissions-Policy", _PERMISSIONS)
        return response


class NoNulMiddleware:
    """Refuse the NUL character, once for every field: PostgreSQL cannot store it and nobody means it."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            has_nul = _has_nul(request)
        except RequestDataTooBig:
            return answers.too_large(request)
        if has_nul:
            return answers.nul_refused(request)
        return self.get_response(request)


def _has_nul(request: HttpRequest) -> bool:
    if "\x00" in request.path or b"\x00" in unquote_to_bytes(request.META.get("QUERY_STRING", "")):
        return True
    if request.method in {"GET", "HEAD", "OPTIONS"}:
        return False
    body = request.body
    if b"\x00" in body:
        return True
    if request.content_type == "application/x-www-form-urlencoded":
        return b"%00" in body
    return _ESCAPED_NUL.search(body) is not None


class FreshPagesMiddleware:
    """Keep pages and fragments apart in every cache, and what one person saw out of all of them.

    Browsers store pages for the back button: a list must show what changed since, and nothing of another person after a logout.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        patch_vary_headers(response, ["HX-Request"])
        response.headers.setdefault("Cache-Control", "no-store, private")
        return response


class SignedInMiddleware(LoginRequiredMiddleware):
    """Every page needs a session, but those marked ``login_not_required``.

    What the others get is for :mod:`portal.signed_out` to say.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Ask who it is only where that matters: the health checks need no database."""
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(  # type: ignore[override]  # the stubs allow a redirect only
        self, request: HttpRequest, view_func: Callable[..., object]
    ) -> HttpResponse:
        return signed_out.answer(request, view_func)
