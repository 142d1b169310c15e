"""What surrounds every page: who looks, as which tenant, where one can go, how fresh the numbers are."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any, Final

from django import template
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from portal.access import with_access
from portal.current_tenant import current_tenant
from portal.freshness_words import FreshnessWords, freshness_words
from portal.http import PortalRequest

register = template.Library()
logger = logging.getLogger(__name__)

SCRIPTS: Final = ("js/theme.js", "js/times.js", "js/live.js", "js/keys.js", "js/dialogs.js", "js/forms.js")
THEMES: Final = (("light", "Light", "sun"), ("dark", "Dark", "moon"), ("system", "As the system", "monitor"))
TENANT_PAGES: Final = frozenset({"holds", "order", "budget", "history", "release-many"})


@dataclass(frozen=True)
class Tab:
    label: str
    url: str
    is_current: bool
    keys: str = ""


@dataclass(frozen=True)
class TenantChoice:
    label: str
    url: str
    is_current: bool


@dataclass(frozen=True)
class ThemeChoice:
    value: str
    label: str
    icon: str
    is_current: bool


@dataclass(frozen=True)
class Frame:
    """What base.html shows. Everything but the themes is empty for somebody who is not signed in."""

    theme: str
    themes: tuple[ThemeChoice, ...]
    now_ms: int
    csrf_cookie: str
    scripts: tuple[str, ...] = SCRIPTS
    home_url: str = "/"
    username: str = ""
    is_hoster: bool = False
    tenant: str = ""
    tenants: tuple[TenantChoice, ...] = ()
    tabs: tuple[Tab, ...] = ()
    acting_tabs: tuple[Tab, ...] = ()
    new_url: str = ""
    live_url: str = ""
    freshness: FreshnessWords = field(default_factory=FreshnessWords)


def chosen_theme(request: HttpRequest) -> str:
    """Give the remembered theme, "" for the system's."""
    theme = request.COOKIES.get("theme", "")
    return theme if theme in {"light", "dark"} else ""


@register.simple_tag(takes_context=True)
def frame(context: dict[str, Any]) -> Frame:
    """Work out the frame. Error pages may be rendered without a request or without a session."""
    request = context.get("request")
    theme = chosen_theme(request) if request is not None else ""
    themes = tuple(
        ThemeChoice(value, label, icon, (theme or "system") == value) for value, label, icon in THEMES
    )
    plain = Frame(
        theme=theme, themes=themes, now_ms=int(time.time() * 1000), csrf_cookie=settings.CSRF_COOKIE_NAME
    )
    try:
        return plain if request is None else _of_request(request, plain, context.get("freshness"))
    except DatabaseError:
        # The page that tells of a failure must not fail for the same reason.
        logger.warning("The frame of a page is shown without the database")
        return plain


def _of_request(request: HttpRequest, plain: Frame, shown: object) -> Frame:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return plain
    fresh = shown if type(shown) is FreshnessWords else freshness_words()
    return _for_person(with_access(request), plain, fresh)


def _for_person(request: PortalRequest, plain: Frame, freshness: FreshnessWords) -> Frame:
    access = request.access
    tenant = current_tenant(request)
    page = (request.resolver_match.url_name if request.resolver_match else "") or ""
    tabs = _hoster_tabs(page) if access.is_hoster else _tenant_tabs(page, tenant)
    return Frame(
        theme=plain.theme,
        themes=plain.themes,
        now_ms=plain.now_ms,
        csrf_cookie=plain.csrf_cookie,
        username=access.username,
        is_hoster=access.is_hoster,
        tenant=tenant,
        tenants=_tenant_choices(request, page, tenant),
        tabs=tabs,
        acting_tabs=_acting_tabs(page, tenant) if access.is_hoster else (),
        new_url=_new_url(request, tenant),
        live_url=f"/live/?{urlencode({'tenant': tenant})}" if tenant and not access.is_hoster else "/live/",
        freshness=freshness,
    )


def _hoster_tabs(page: str) -> tuple[Tab, ...]:
    return (
        Tab("Overview", reverse("overview"), page == "overview", "g o"),
        Tab("Offers", reverse("offers"), page.startswith("offer"), "g f"),
        Tab("Nodes", reverse("nodes"), page in {"nodes", "node"}, "g d"),
        Tab("Holds", reverse("all-holds"), page in {"all-holds", "hold", "release"}, "g h"),
        Tab("Tenants", reverse("tenants"), page == "tenants" or page in TENANT_PAGES, "g t"),
        Tab("Catalog", reverse("catalog"), page == "catalog", "g c"),
    )


def _acting_tabs(page: str, tenant: str) -> tuple[Tab, ...]:
    """The pages of one tenant, for a hoster who acts for it."""
    if page not in TENANT_PAGES or not tenant:
        return ()
    words = (("holds", "Holds"), ("order", "Order"), ("budget", "Budget"), ("history", "History"))
    return tuple(Tab(label, reverse(name, args=[tenant]), page == name) for name, label in words)


def _tenant_tabs(page: str, tenant: str) -> tuple[Tab, ...]:
    catalog = Tab("Catalog", reverse("catalog"), page in {"catalog", "order"}, "g c")
    if not tenant:
        return (catalog,)
    return (
        catalog,
        Tab(
            "My GPUs",
            reverse("holds", args=[tenant]),
            page in {"holds", "hold", "release", "release-many"},
            "g h",
        ),
        Tab("Budget", reverse("budget", args=[tenant]), page == "budget", "g b"),
        Tab("History", reverse("history", args=[tenant]), page == "history", "g y"),
    )


def _tenant_choices(request: PortalRequest, page: str, tenant: str) -> tuple[TenantChoice, ...]:
    """Switching keeps the page where it means something in the other tenant."""
    access = request.access
    if access.is_hoster or len(access.rights) < 2:
        return ()
    choices = []
    for name in sorted(access.rights):
        if page in TENANT_PAGES and page != "release-many":
            url = reverse(page, args=[name])
        elif page in {"hold", "release", "release-many"}:
            url = reverse("holds", args=[name])
        else:
            url = f"{reverse('catalog')}?{urlencode({'tenant': name})}"
        choices.append(TenantChoice(name, url, name == tenant))
    return tuple(choices)


def _new_url(request: PortalRequest, tenant: str) -> str:
    if request.access.is_hoster:
        return reverse("offer-new")
    return reverse("order", args=[tenant]) if tenant and request.access.can_order(tenant) else ""
