"""What happens to every request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from pytest_django import DjangoAssertNumQueries, Settings

from portal.address import client_address
from portal.http import is_fragment
from portal.middleware import NoNulMiddleware
from portal.models import User

Browse = Callable[[User], Client]
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("path", "kwargs"),
    [
        ("/hoster/offers/named/a%00b/", {}),
        ("/?q=a%00b", {}),
        ("/login/", {"data": {"username": "a\x00b", "password": "x"}}),
        ("/sync/", {"data": "q=a%00b", "content_type": "application/x-www-form-urlencoded"}),
        ("/api/v1/classes/", {"data": b'{"a": "b\\u0000"}', "content_type": "application/json"}),
        ("/api/v1/classes/", {"data": b'{"a": "b\x00"}', "content_type": "application/json"}),
        ("/api/v1/classes/", {"data": b'{"a": "\\\\\\u0000"}', "content_type": "application/json"}),
    ],
)
def test_the_nul_character_is_refused_at_the_edge_wherever_it_is(
    hoster: User, browse: Browse, path: str, kwargs: dict[str, Any]
) -> None:
    client = browse(hoster)

    response = client.post(path, **kwargs) if kwargs else client.get(path)

    assert response.status_code == 400
    assert b"NUL" in response.content
    if path.startswith("/api/"):
        assert response.headers["Content-Type"] == "application/problem+json"


def test_a_backslash_before_u0000_is_no_nul() -> None:
    request = RequestFactory().post("/", rb'{"a": "\\u0000"}', content_type="application/json")

    response = NoNulMiddleware(lambda _: HttpResponse("through"))(request)

    assert isinstance(response, HttpResponse)
    assert response.content == b"through"


def test_a_body_that_is_too_large_is_refused(settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10

    response = Client().post(
        "/api/v1/classes/", b'{"a": "aaaaaaaaaaaaaaaa"}', content_type="application/json"
    )

    assert response.status_code == 413


def test_a_page_without_a_session_leads_to_the_login_and_back() -> None:
    response = Client().get("/hoster/nodes/?q=a+b")

    assert response.status_code == 302
    assert response.headers["Location"] == "/login/?next=/hoster/nodes/%3Fq%3Da%2Bb"


def test_a_fragment_without_a_session_sends_the_browser_to_the_login_with_the_page_it_shows() -> None:
    response = Client().get(
        "/tenants/tenant-acme/gpus/",
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/tenants/tenant-acme/gpus/?q=1"},
    )

    assert response.headers["HX-Redirect"] == "/login/?next=/tenants/tenant-acme/gpus/%3Fq%3D1"
    assert response.content == b""


@pytest.mark.parametrize("path", ["/freshness/", "/tenants/tenant-acme/order/verdict/"])
def test_a_page_where_somebody_types_is_not_left_when_the_session_ends(path: str) -> None:
    response = Client().get(
        path,
        headers={
            "HX-Request": "true",
            "HX-Current-URL": "http://testserver/tenants/tenant-acme/order/?class=l40s",
        },
    )

    assert response.status_code == 200
    assert "HX-Redirect" not in response.headers
    assert response.headers["HX-Reswap"] == "none"
    html = response.content.decode()
    assert html.count("<div") == 1
    assert 'id="freshness"' in html
    assert 'hx-swap-oob="true"' in html
    assert 'hx-get="/freshness/"' in html
    assert 'href="/login/?next=/tenants/tenant-acme/order/%3Fclass%3Dl40s" target="_blank"' in html


@pytest.mark.parametrize(
    "shown",
    [
        "https://evil.example/x",
        "javascript:alert(1)",
        "",
        "//evil.example/",
        "http://testserver//evil.example/",
        "http://testserver/sync/",
        "http://testserver/nowhere/",
    ],
)
def test_the_way_back_leads_to_pages_of_ours_only(shown: str) -> None:
    response = Client().get("/hoster/nodes/", headers={"HX-Request": "true", "HX-Current-URL": shown})

    assert response.headers["HX-Redirect"] == "/login/?next=/"


@pytest.mark.parametrize("path", ["/sync/", "/logout/", "/theme/", "/freshness/"])
def test_an_address_without_a_page_is_no_way_back(path: str) -> None:
    response = Client().get(path)

    assert response.headers.get("Location", "/login/?next=/") == "/login/?next=/"


def test_what_was_typed_is_kept_when_the_session_ended_before_it_was_sent() -> None:
    response = Client().post("/tenants/tenant-acme/order/?class=l40s", {"name": "<train>", "count": "2"})

    html = response.content.decode()
    assert response.status_code == 403
    assert "You are signed out." in html
    assert 'name="name" value="&lt;train&gt;"' in html
    assert 'name="count" value="2"' in html
    assert 'action="/tenants/tenant-acme/order/?class=l40s"' in html


def test_a_button_that_holds_nothing_leads_to_the_login() -> None:
    assert Client().post("/sync/").headers["Location"] == "/login/?next=/"


def test_a_fragment_that_is_sent_leads_to_the_login_and_back_to_its_page() -> None:
    response = Client().post(
        "/tenants/tenant-acme/release/",
        {"hold": "one"},
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/tenants/tenant-acme/gpus/"},
    )

    assert response.headers["HX-Redirect"] == "/login/?next=/tenants/tenant-acme/gpus/"


def test_a_page_open_to_all_asks_nobody_who_they_are(
    hoster: User, browse: Browse, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = browse(hoster)

    with django_assert_num_queries(0):
        assert client.get("/healthz").status_code == 200


def test_caches_keep_fragments_and_people_apart(hoster: User, browse: Browse) -> None:
    response = browse(hoster).get("/login/")
    page = Client().get("/login/")

    assert "HX-Request" in page.headers["Vary"]
    assert "no-store" in page.headers["Cache-Control"]
    assert response.status_code == 302


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"HX-Request": "true"}, True),
        ({"HX-Request": "true", "HX-Boosted": "true"}, False),
        ({"HX-Request": "true", "HX-History-Restore-Request": "true"}, False),
    ],
)
def test_a_history_restore_gets_the_whole_page(headers: dict[str, str], expected: bool) -> None:
    from django_htmx.middleware import HtmxMiddleware

    request = RequestFactory().get("/", headers=headers)
    seen: list[bool] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(is_fragment(request))
        return HttpResponse()

    HtmxMiddleware(view)(request)

    assert seen == [expected]


def test_every_answer_has_a_request_id_and_the_security_headers() -> None:
    response = Client().get("/login/", headers={"X-Request-ID": "forged-by-the-client"})

    assert response.headers["X-Request-ID"] != "forged-by-the-client"
    assert len(response.headers["X-Request-ID"]) == 32
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert "camera=()" in response.headers["Permissions-Policy"]


def test_a_proxy_we_trust_names_the_request(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = 1

    assert Client().get("/healthz", headers={"X-Request-ID": "from-the-proxy"}).headers["X-Request-ID"] == (
        "from-the-proxy"
    )


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, "9.9.9.9", "127.0.0.1"),
        (1, "", "127.0.0.1"),
        (1, "9.9.9.9", "9.9.9.9"),
        (1, "6.6.6.6, 9.9.9.9", "9.9.9.9"),
        (2, "6.6.6.6, 9.9.9.9, 10.0.0.1", "9.9.9.9"),
        (3, "9.9.9.9", "9.9.9.9"),
    ],
)
def test_a_forged_address_is_not_believed(
    settings: Settings, proxies: int, forwarded: str, expected: str
) -> None:
    settings.TRUSTED_PROXIES = proxies
    request = RequestFactory().get("/", headers={"X-Forwarded-For": forwarded} if forwarded else {})

    assert client_address(request) == expected
