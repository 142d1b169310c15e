"""Where a person is led after something: to pages of this portal, whatever address a browser brings along."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, urlsplit

from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django.utils.http import url_has_allowed_host_and_scheme

from portal.http import API_PREFIX

_NO_PAGES: Final = frozenset({"freshness", "logout", "order-verdict", "sync-now", "theme"})
"""What answers to buttons only, or with a part of a page."""


def page_of_ours(request: HttpRequest, address: str) -> str:
    """Give the path and the query of the address; "" when it leads elsewhere or to no page."""
    if not url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure()):
        return ""
    parts = urlsplit(address)
    path = parts.path or "/"
    try:
        found = resolve(unquote(path))
    except Resolver404:
        return ""
    if found.url_name in _NO_PAGES or path.startswith(API_PREFIX):
        return ""
    return f"{path}?{parts.query}" if parts.query else path
