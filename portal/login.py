"""Signing in and out of local users, and what the session loads on every request."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from portal import answers, audit
from portal.http import is_api
from portal.models import User
from portal.signed_out import ask_again
from portal.way_back import page_of_ours


class LocalUserBackend(ModelBackend):
    """Users of the portal's own database. Demo users are nobody while the demo is off, open sessions included."""

    def get_user(self, user_id: Any) -> User | None:
        """Load the user with the names of the groups, in one query: every request needs both."""
        rows = list(User.groups.through.objects.filter(user_id=user_id).select_related("user", "group"))
        user: User | None
        if rows:
            user = rows[0].user
            user.group_names = tuple(sorted(row.group.name for row in rows))
        else:
            user = User.objects.filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None

    def user_can_authenticate(self, user: Any) -> bool:
        return super().user_can_authenticate(user) and (settings.DEMO or not user.is_demo)


@login_not_required
@csrf_protect
@sensitive_post_parameters("password")
def sign_in(request: HttpRequest) -> HttpResponse:
    """Show the form and sign in. Already signed in: go on to where the person was heading."""
    target = _next_page(request)
    if request.user.is_authenticated:
        return redirect(target)
    form = AuthenticationForm(request, request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = form.get_user()
        login(request, user)
        audit.record("sign in", username=user.get_username())
        return redirect(target)
    return render(
        request,
        "login.html",
        {"form": form, "next": target, "demo_users": demo_names()},
        status=422 if form.is_bound else 200,
    )


@login_not_required
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session, if there still is one."""
    if request.user.is_authenticated:
        audit.record("sign out", username=request.user.get_username())
    logout(request)
    if request.headers.get("HX-Request"):
        return HttpResponseClientRedirect(redirect(settings.LOGOUT_REDIRECT_URL).url)
    return redirect(settings.LOGOUT_REDIRECT_URL)


def locked_out(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any]) -> HttpResponse:
    """Answer whoever guessed too often. The page does not say whether the name exists."""
    minutes = int(settings.AXES_COOLOFF_TIME.total_seconds() // 60)
    if is_api(request):
        return answers.locked_out(request, minutes=minutes)
    form = AuthenticationForm(request, None)
    context = {"form": form, "next": _next_page(request), "locked_minutes": minutes}
    locked = render(request, "login.html", context, status=429)
    locked.headers["Retry-After"] = str(minutes * 60)
    return locked


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Say in a few words that the session changed, and keep what was entered.

    A fragment gets one line. A page gets the same fields again, to be sent with a fresh token; but only when the form came from a
    page of ours, or a stranger's form could be sent on with one click.
    """
    origin = request.headers.get("Origin", "")
    is_ours = bool(origin) and urlsplit(origin).netloc == request.get_host()
    if not is_ours or request.headers.get("HX-Request") or request.path == redirect(settings.LOGIN_URL).url:
        return answers.session_changed(request)
    return ask_again(request)


def demo_names() -> list[str]:
    """Name the demo users, for the login page of a demo. Nobody elsewhere."""
    if not settings.DEMO:
        return []
    return list(
        User.objects.filter(is_demo=True, is_active=True).order_by("pk").values_list("username", flat=True)
    )


def _next_page(request: HttpRequest) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    return page_of_ours(request, wanted) or redirect(settings.LOGIN_REDIRECT_URL).url
