"""Which tenant a person is looking at: the one in the address, else the last one, else the first."""

from __future__ import annotations

from typing import Final

from portal.http import PortalRequest

_KEY: Final = "tenant"


def current_tenant(request: PortalRequest) -> str:
    """Give the tenant's namespace, or "" for whoever has none (a hoster, a stranger)."""
    access = request.access
    match = request.resolver_match
    named = match.kwargs.get("ns", "") if match else ""
    if named and access.can_view(named):
        return str(named)
    if access.is_hoster or not access.rights:
        return ""
    last = request.session.get(_KEY, "")
    return last if last in access.rights else min(access.rights)


def remember_tenant(request: PortalRequest, namespace: str) -> None:
    """Keep the choice for pages that name no tenant."""
    if namespace in request.access.rights and request.session.get(_KEY) != namespace:
        request.session[_KEY] = namespace
