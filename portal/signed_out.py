"""What somebody gets whose session has ended. Nothing that was typed is thrown away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_htmx.http import HttpResponseClientRedirect

from portal import answers
from portal.http import is_api
from portal.way_back import page_of_ours

V = TypeVar("V", bound=Callable[..., object])

_NEVER_KEPT: Final = frozenset({"csrfmiddlewaretoken", "password"})


def keeps_its_page(view: V) -> V:
    """Mark a fragment that a page fetches by itself while somebody may type there: that page is not left for the login."""
    view.keeps_its_page = True  # type: ignore[attr-defined]  # read below
    return view


def answer(request: HttpRequest, view: Callable[..., object]) -> HttpResponse:
    """Lead to the login and back to the page that is shown; but keep what was typed, and the page where somebody types."""
    if is_api(request):
        return answers.not_signed_in(request)
    if request.headers.get("HX-Request"):
        shown = page_of_ours(request, request.headers.get("HX-Current-URL", ""))
        login = redirect_to_login(shown or "/", settings.LOGIN_URL).url
        if getattr(view, "keeps_its_page", False):
            return _corner(request, login)
        return HttpResponseClientRedirect(login)
    if request.method == "POST" and typed(request):
        return ask_again(request)
    return redirect_to_login(page_of_ours(request, request.get_full_path()) or "/", settings.LOGIN_URL)


def typed(request: HttpRequest) -> list[tuple[str, str]]:
    """Give the fields that were sent and may be shown again."""
    return [
        (name, value) for name, values in request.POST.lists() for value in values if name not in _NEVER_KEPT
    ]


def ask_again(request: HttpRequest) -> HttpResponse:
    """Show the same fields again, to be sent with a fresh token. Only for a form that came from a page of ours."""
    shown = {
        "fields": typed(request),
        "action": request.get_full_path(),
        "form_url": page_of_ours(request, request.get_full_path())
        or page_of_ours(request, request.headers.get("Referer", "")),
        "is_signed_in": request.user.is_authenticated,
    }
    return render(request, "session_changed.html", shown, status=403)


def _corner(request: HttpRequest, login: str) -> HttpResponse:
    """Say it in the corner and leave all else as it is."""
    response = render(request, "components/_freshness.html", {"sign_in_url": login})
    response.headers["HX-Reswap"] = "none"
    return response
