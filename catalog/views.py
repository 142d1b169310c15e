"""The small things of every page."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from portal.access import signed_in
from portal.freshness_words import freshness_words
from portal.http import PortalRequest
from portal.signed_out import keeps_its_page
from portal.way_back import page_of_ours

ONE_YEAR_SECONDS = 365 * 24 * 3600


@keeps_its_page
@require_GET
@signed_in
def freshness(request: PortalRequest) -> HttpResponse:
    """The corner of every page that says how fresh the numbers are."""
    return render(request, "components/_freshness.html", {"freshness": freshness_words(), "is_news": True})


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the theme, for whoever has no JavaScript (and before signing in)."""
    response = redirect(page_of_ours(request, request.POST.get("next", "")) or "catalog")
    chosen = request.POST.get("theme", "")
    if chosen in {"light", "dark"}:
        response.set_cookie(
            "theme", chosen, max_age=ONE_YEAR_SECONDS, samesite="Lax", secure=request.is_secure()
        )
        return response
    response.delete_cookie("theme", samesite="Lax")
    return response
