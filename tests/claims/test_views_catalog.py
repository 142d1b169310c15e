from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from catalog.models import OfferPresentation
from gpu.resources import Mode
from portal.mirror import stock
from portal.models import FeedState
from tests.builders import a_claim, a_namespace, a_node, a_quota
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import offer, text_of, words

As = Callable[..., Rest]


def card_of(client: Client, name: str) -> str:
    html = client.get("/").content.decode()
    return words(html.split(f'id="offer-{name}"')[1].split("</article>")[0].partition(">")[2])


@pytest.mark.parametrize(
    ("free", "most", "served", "state"),
    [
        (8, 4, True, "Available"),
        (2, 2, True, "Low"),
        (0, 0, True, "Sold out"),
        (0, 0, False, "Not served"),
        (None, None, True, "Unknown"),
    ],
)
def test_every_state_of_an_offer_has_its_word(
    rest: As, mirrored: Mirrored, free: int | None, most: int | None, served: bool, state: str
) -> None:
    mirrored(offer("l40s", free=free, most=most, served=served))

    assert state in card_of(rest("alice").client, "l40s")


def test_an_unknown_number_is_not_shown_as_zero(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=None))

    card = card_of(rest("alice").client, "l40s")

    assert "0 free" not in card
    assert "orders are still checked" in card


def test_numbers_too_old_to_believe_are_unknown_and_the_page_says_since_when(
    rest: As, mirrored: Mirrored
) -> None:
    mirrored(offer("l40s", free=8))
    FeedState.objects.update(synced_at=timezone.now() - timedelta(hours=1))

    client = rest("alice").client
    text = text_of(client)

    assert re.search(r'id="stale-banner" class="[^"]*" role="status">', client.get("/").content.decode())
    assert "8 free" not in text
    assert "Unknown" in text


def test_the_corner_of_the_page_brings_the_banner_along(rest: As, mirrored: Mirrored) -> None:
    client = rest("alice").client
    banner = re.compile(r'id="stale-banner"[^>]*hx-swap-oob="true"( hidden)?>')

    fresh = banner.search(client.get("/freshness/").content.decode())
    FeedState.objects.update(synced_at=timezone.now() - timedelta(hours=1))
    stale = banner.search(client.get("/freshness/").content.decode())

    assert [bool(found and found[1]) for found in (fresh, stale)] == [True, False]
    assert stale


def test_chips_are_lit_for_what_fits_now(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8, most=4))

    html = rest("alice").client.get("/").content.decode()

    assert re.findall(r'class="chip (chip-\w+)"', html) == ["chip-on", "chip-on", "chip-on", "chip-off"]
    assert "/tenants/tenant-acme/order/?class=l40s&amp;count=4" in html


def test_a_budget_limits_what_fits(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8, most=8), a_quota({"gpu.cozystack.io/l40s": "3"}), a_claim("one", gpus=2))

    assert "your budget leaves 1" in card_of(rest("alice").client, "l40s")


def test_a_vgpu_offer_without_a_limit_is_one_per_vm(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s-24c", free=6, mode=Mode.VGPU, profile="L40S-24C"))

    assert "1 per VM" in card_of(rest("alice").client, "l40s-24c")


def test_a_tenant_sees_its_own_units_and_nobody_elses(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        offer("l40s", free=3),
        a_claim("mine", gpus=2),
        a_claim("theirs", gpus=5, namespace="tenant-globex"),
    )

    html = rest("alice").client.get("/").content.decode()

    assert 'aria-label="2 yours, 3 free"' in html
    assert "5" not in re.findall(r'aria-label="([^"]*free)"', html)[0]


def test_the_hoster_sees_all_units(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_node("n1", gpus=8), offer("l40s", free=5), a_claim("one", gpus=3, node="n1"))
    stock.recount()

    html = rest("hoster").client.get("/").content.decode()

    assert 'aria-label="3 held, 5 free"' in html


def test_a_stranger_sees_the_offers_and_can_order_nothing(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8))

    html = rest("stranger").client.get("/").content.decode()

    assert "8" in html
    assert "/order/" not in html


def test_a_viewer_can_order_nothing(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8))

    assert "/order/" not in rest("bob").client.get("/").content.decode()


def test_sold_out_offers_stay_and_come_last(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("a", free=0), offer("b", free=None), offer("c", free=4))

    html = rest("alice").client.get("/").content.decode()

    assert re.findall(r'id="offer-(\w)"', html) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("q=h100", ["h100"]),
        ("vendor=amd", ["mi300x"]),
        ("memory=80", ["h100", "mi300x"]),
        ("mode=vgpu", ["l40s-24c"]),
        ("fits=4", ["h100"]),
        ("model=H100", ["h100"]),
        ("memory=x&fits=-1&mode=", ["h100", "l40s-24c", "mi300x"]),
        ("q=nothing", []),
    ],
)
def test_the_address_narrows_the_catalog(rest: As, mirrored: Mirrored, query: str, shown: list[str]) -> None:
    mirrored(
        offer("h100", free=8, most=4, model="H100", memory="80Gi"),
        offer("l40s-24c", free=6, mode=Mode.VGPU, profile="L40S-24C", memory="24Gi"),
        offer("mi300x", free=2, vendor="amd", model="MI300X", memory="192Gi"),
    )

    html = rest("alice").client.get(f"/?{query}").content.decode()

    assert sorted(re.findall(r'id="offer-([\w-]+)"', html)) == shown


def test_a_fragment_is_the_cards_alone_and_a_history_restore_is_the_page(
    rest: As, mirrored: Mirrored
) -> None:
    mirrored(offer("l40s", free=8))
    client = rest("alice").client

    fragment = client.get("/", headers={"HX-Request": "true"}).content.decode()
    restored = client.get(
        "/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"}
    ).content.decode()

    assert "<html" not in fragment
    assert 'id="cards"' in fragment
    assert "<html" in restored


def test_a_price_is_shown_where_there_is_one(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8), offer("h100", free=1))
    OfferPresentation.objects.create(class_name="l40s", price_cents_per_hour=290)

    client = rest("alice").client

    assert "€ 2.90 / h each" in card_of(client, "l40s")
    assert "€" not in card_of(client, "h100")


def test_names_in_an_offer_are_text_and_never_markup(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8, display_name="<script>alert(1)</script>"))

    html = rest("alice").client.get("/").content.decode()

    assert "<script>alert" not in html


def test_the_chosen_tenant_is_remembered(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_namespace("tenant-acme-lab", ancestors=["tenant-acme"]), offer("l40s", free=8))
    client = rest("alice").client

    client.get("/?tenant=tenant-acme-lab")

    assert "/tenants/tenant-acme-lab/order/" in client.get("/").content.decode()
    client.get("/?tenant=tenant-globex")
    assert "/tenants/tenant-acme-lab/order/" in client.get("/").content.decode()


@pytest.mark.parametrize(("chosen", "expected"), [("dark", ' data-theme="dark"'), ("system", ""), ("x", "")])
def test_the_theme_is_remembered_without_javascript(
    rest: As, mirrored: Mirrored, chosen: str, expected: str
) -> None:
    client = rest("alice").client

    response = client.post("/theme/", {"theme": chosen, "next": "/?q=x"})

    assert response["Location"] == "/?q=x"
    root = re.findall(r"<html[^>]*>", client.get("/").content.decode())[0]
    assert ("data-theme" in root) is bool(expected)
    assert expected in root


def test_the_theme_button_leads_to_no_other_site(rest: As, mirrored: Mirrored) -> None:
    response = rest("alice").client.post("/theme/", {"theme": "dark", "next": "https://evil.example/"})

    assert response["Location"] == "/"
