"""The small things of every page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from portal.access import signed_in
from portal.freshness_words import freshness_words
from portal.http import PortalRequest

ONE_YEAR_SECONDS = 365 * 24 * 3600


@require_GET
@signed_in
def freshness(request: PortalRequest) -> HttpResponse:
    """The corner of every page that says how fresh the numbers are."""
    return render(request, "components/_freshness.html", {"freshness": freshness_words(), "is_news": True})


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the theme, for whoever has no JavaScript (and before signing in)."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        target = "catalog"
    response = redirect(target)
    chosen = request.POST.get("theme", "")
    if chosen in {"light", "dark"}:
        response.set_cookie(
            "theme", chosen, max_age=ONE_YEAR_SECONDS, samesite="Lax", secure=request.is_secure()
        )
        return response
    response.delete_cookie("theme", samesite="Lax")
    return response
