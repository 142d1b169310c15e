"""What surrounds every page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection

from tests.builders import a_claim, a_class, a_namespace, a_node
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import words

As = Callable[..., Rest]


def nav_of(html: str) -> list[str]:
    return re.findall(r">([^<]+)</a>", html.split('aria-label="Main"')[1].split("</nav>")[0])


@pytest.mark.parametrize(
    ("who", "tabs"),
    [
        ("alice", ["Catalog", "My GPUs", "Budget", "History"]),
        ("stranger", ["Catalog"]),
        ("hoster", ["Overview", "Offers", "Nodes", "Holds", "Tenants", "Catalog"]),
    ],
)
def test_everybody_is_led_to_their_own_pages(rest: As, mirrored: Mirrored, who: str, tabs: list[str]) -> None:
    assert nav_of(rest(who).client.get("/").content.decode()) == tabs


def test_the_switcher_keeps_the_page_and_is_there_for_several_tenants_only(
    rest: As, mirrored: Mirrored
) -> None:
    client = rest("alice").client
    assert "Switch tenant" not in client.get("/").content.decode()
    mirrored(a_namespace("tenant-acme-lab", ancestors=["tenant-acme"]))

    html = client.get("/tenants/tenant-acme/budget/").content.decode()

    assert "/tenants/tenant-acme-lab/budget/" in html
    assert "tenant-globex" not in html


def test_the_hoster_acts_for_any_tenant_from_its_pages(rest: As, mirrored: Mirrored) -> None:
    hoster = rest("hoster").client
    for page in ("gpus", "order", "budget", "history"):
        html = hoster.get(f"/tenants/tenant-acme/{page}/").content.decode()
        acting = html.split('aria-label="For tenant-acme"')[1].split("</nav>")[0]
        assert re.findall(r'href="(/[^"]*)"', acting)[1:] == [
            f"/tenants/tenant-acme/{name}/" for name in ("gpus", "order", "budget", "history")
        ]
        assert acting.count('aria-current="page"') == 1
    assert 'class="acting"' not in rest("alice").client.get("/tenants/tenant-acme/gpus/").content.decode()


def test_the_help_names_the_keys_that_work_on_this_page(rest: As, mirrored: Mirrored) -> None:
    for who in ("alice", "bob", "hoster"):
        html = rest(who).client.get("/").content.decode()
        told = words(html.split('class="keys"')[1].split("</dl>")[0])
        for keys in re.findall(r'data-key="(\w(?: \w)?)"', html):
            assert keys in told, (who, keys)
        assert ("new order" in told) == (who == "alice")


PAGES = [
    ("alice", "/"),
    ("alice", "/tenants/tenant-acme/order/"),
    ("alice", "/tenants/tenant-acme/gpus/"),
    ("alice", "/tenants/tenant-acme/gpus/one/"),
    ("alice", "/tenants/tenant-acme/gpus/one/release/"),
    ("alice", "/tenants/tenant-acme/budget/"),
    ("alice", "/tenants/tenant-acme/history/"),
    ("hoster", "/hoster/"),
    ("hoster", "/hoster/offers/"),
    ("hoster", "/hoster/new-offer/"),
    ("hoster", "/hoster/offers/l40s/"),
    ("hoster", "/hoster/offers/l40s/delete/"),
    ("hoster", "/hoster/nodes/"),
    ("hoster", "/hoster/nodes/n1/"),
    ("hoster", "/hoster/holds/"),
    ("hoster", "/hoster/tenants/"),
    ("hoster", "/tenants/tenant-acme/gpus/"),
    (None, "/login/"),
    ("alice", "/nowhere/"),
]


@pytest.mark.parametrize(("who", "path"), PAGES)
def test_a_page_keeps_to_the_strict_policy_and_has_one_of_each(
    rest: As, mirrored: Mirrored, who: str | None, path: str
) -> None:
    mirrored(a_class(), a_node("n1"), a_claim(node="n1"))

    response = rest(who).client.get(path)

    html = response.content.decode()
    assert "unsafe" not in response["Content-Security-Policy"]
    assert not re.search(r"<[^>]+\s(style|on\w+|hx-on[\w:-]*)=", html)
    assert not re.search(r"<script(?![^>]*\ssrc=)[^>]*>", html)
    assert "<style" not in html
    assert len(re.findall(r"<h1[ >]", html)) == 1
    assert html.count('aria-live="polite"></p>\n    <dialog') == 1
    assert html.count('class="skip-link"') == 1
    ids = re.findall(r'\sid="([^"]+)"', html.split("<template")[0])
    assert sorted(ids) == sorted(set(ids))


def test_a_fragment_is_never_a_page_and_never_stored(rest: As, mirrored: Mirrored) -> None:
    response = rest("alice").client.get("/tenants/tenant-acme/gpus/", headers={"HX-Request": "true"})

    assert "<html" not in response.content.decode()
    assert "HX-Request" in response["Vary"]
    assert "no-store" in response["Cache-Control"] or "no-cache" in response["Cache-Control"]


def test_the_page_that_tells_of_a_broken_database_does_not_break(rest: As, mirrored: Mirrored) -> None:
    client = rest("alice").client
    client.raise_request_exception = False

    def fail(*_: Any) -> None:
        raise OperationalError("the database is away")

    with connection.execute_wrapper(fail):
        response = client.get("/")

    assert response.status_code in {500, 503}
    assert "Something went wrong here" in words(response.content.decode())
