from __future__ import annotations

from collections.abc import Callable

import pytest

from catalog.models import OfferPresentation
from catalog.offer_form import OfferForm
from catalog.prices import Price, money, price_fault, price_of
from tests.builders import a_class
from tests.catalog.test_forms_offer import GOOD, posted
from tests.catalog.test_views_offers import edit_form
from tests.fixtures.live import Live
from tests.fixtures.rest import Rest
from tests.pages import text_of, words

As = Callable[..., Rest]
NEW = "/hoster/new-offer/"
EDIT = "/hoster/offers/l40s/"


@pytest.mark.parametrize("amount", ["2.90", "2,9", "0", "0.01", "9999999.99"])
def test_what_people_write_is_a_price(amount: str) -> None:
    assert price_fault(amount) == ""


@pytest.mark.parametrize("amount", ["free", "-1", "2.999", "1e3", "12345678", "٢", "2 90", "."])
def test_what_is_no_amount_is_answered_with_an_example(amount: str) -> None:
    assert "2.90" in price_fault(amount)


def test_money_is_written_with_its_sign_or_its_code() -> None:
    assert money(290, "EUR") == "€ 2.90"
    assert money(123456789, "CHF") == "CHF 1,234,567.89"


def test_a_price_that_was_not_touched_is_not_written() -> None:
    stored = a_class()
    form = OfferForm(posted(OfferForm.of(stored, price=Price(290, "EUR"))), stored=stored)

    assert form.is_valid(), form.errors
    assert form.price_change == "untouched"


@pytest.mark.parametrize(
    ("typed", "want"),
    [
        ({"price": "3,5"}, Price(350, "EUR")),
        ({"price": ""}, None),
        ({"currency": "USD"}, Price(290, "USD")),
        ({"price": "2.9"}, "untouched"),
    ],
)
def test_a_price_that_was_touched_is_what_was_typed(typed: dict[str, str], want: object) -> None:
    stored = a_class()
    sent = {**posted(OfferForm.of(stored, price=Price(290, "EUR"))), **typed}
    form = OfferForm(sent, stored=stored)

    assert form.is_valid(), form.errors
    assert form.price_change == want


def test_the_hoster_sets_a_price_that_the_catalog_shows_and_takes_it_away(rest: As, live: Live) -> None:
    hoster = rest("hoster").client
    hoster.post(NEW, {**GOOD, "price": "2.90", "currency": "EUR"})
    assert "€ 2.90 / h each" in text_of(rest("alice").client)

    sent = {**edit_form(live), "price": "", "price_before": "2.90 EUR", "currency": "EUR"}
    hoster.post(EDIT, sent)

    assert price_of("l40s") is None
    assert "/ h each" not in text_of(rest("alice").client)


def test_a_withdrawn_offer_leaves_no_price_behind(rest: As, live: Live) -> None:
    hoster = rest("hoster").client
    hoster.post(NEW, {**GOOD, "price": "2.90"})

    hoster.post(f"{EDIT}delete/")

    assert OfferPresentation.objects.count() == 0


def test_a_bad_price_is_said_at_its_field_and_nothing_is_published(rest: As, live: Live) -> None:
    response = rest("hoster").client.post(NEW, {**GOOD, "price": "cheap", "currency": "euros"})

    html = response.content.decode()
    assert response.status_code == 422
    assert "Write it as 2.90" in words(html.split('id="price-fault"')[1])[:60]
    assert "Three capital letters" in words(html.split('id="currency-fault"')[1])[:60]
    assert OfferPresentation.objects.count() == 0
