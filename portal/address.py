"""Where a request comes from."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """Give the client's address. Forwarded addresses are believed only as far as TRUSTED_PROXIES says.

    What a client writes into X-Forwarded-For stands left of what the proxies add, so it is never looked at.
    """
    direct = str(request.META.get("REMOTE_ADDR", ""))
    if not settings.TRUSTED_PROXIES:
        return direct
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    return hops[-min(settings.TRUSTED_PROXIES, len(hops))] if hops else direct
