"""Where a person is led after something: to pages of ours, which every address with a page is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from portal.models import User
from portal.way_back import page_of_ours
from tests.portal.test_login import Browse

pytestmark = pytest.mark.django_db


def addresses() -> Iterator[str]:
    """Every address of the portal outside the API, its parts filled in."""

    def walk(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[str]:
        for pattern in patterns:
            text = before + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, text)
            else:
                yield "/" + text.replace("<str:ns>", "tenant-acme").replace("<str:name>", "one")

    return (path for path in walk(get_resolver().url_patterns, "") if not path.startswith("/api/"))


def way_back(address: str) -> str:
    return page_of_ours(RequestFactory().get("/"), address)


def test_whatever_answers_only_to_buttons_is_no_page(hoster: User, browse: Browse) -> None:
    client = browse(hoster)

    found = {path for path in addresses() if client.get(path).status_code == 405}

    assert found == {"/logout/", "/sync/", "/theme/"}
    assert [path for path in found if way_back(path)] == []


def test_an_address_keeps_its_query_and_loses_its_host() -> None:
    assert way_back("http://testserver/hoster/nodes/?q=a+b#x") == "/hoster/nodes/?q=a+b"
    assert way_back("/") == "/"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://evil.example/",
        "//evil.example/",
        "http://testserver//evil.example/",
        "/\\evil.example/",
        "/nowhere/",
        "/freshness/",
        "/tenants/tenant-acme/order/verdict/",
        "/api/v1/classes/",
        "http://[",
    ],
)
def test_what_is_no_page_of_ours_is_no_way_back(address: str) -> None:
    assert way_back(address) == ""
