"""Requests and answers as this portal types them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.http import HttpRequest

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from portal.access import Access
    from portal.models import User


API_PREFIX: Final = "/api/"


class PortalRequest(HttpRequest):
    """A request behind one of the decorators of :mod:`portal.access`. A type only: Django makes the request."""

    access: Access
    htmx: HtmxDetails
    user: User  # signed in: the decorators come after the login middleware
    request_id: str


def is_fragment(request: HttpRequest) -> bool:
    """Say whether htmx wants a part of the page. A boosted link and a history restore want all of it."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return bool(htmx) and htmx is not None and not htmx.boosted and not htmx.history_restore_request


def is_api(request: HttpRequest) -> bool:
    """Say whether the answer must be JSON, whatever went wrong."""
    return request.path.startswith(API_PREFIX)
