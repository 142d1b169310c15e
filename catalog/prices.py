"""Prices of offers: what only the portal knows of them. Typed, written as people write them, and kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from catalog.models import OfferPresentation
from portal import audit
from portal.access import Access

SIGNS: Final = {"EUR": "€", "USD": "$", "GBP": "£"}
CURRENCIES: Final = ("EUR", "USD", "GBP", "CHF")
_AMOUNT: Final = re.compile(r"[0-9]{1,7}(?:[.,][0-9]{1,2})?", re.ASCII)
_CODE: Final = re.compile(r"[A-Z]{3}", re.ASCII)


@dataclass(frozen=True)
class Price:
    """What one unit costs an hour."""

    cents: int
    currency: str

    @property
    def amount(self) -> str:
        """The number as it stands in a form."""
        return f"{self.cents // 100}.{self.cents % 100:02}"


def price_fault(amount: str) -> str:
    """Say what is wrong with an amount; "" when nothing is."""
    if _AMOUNT.fullmatch(amount):
        return ""
    return "Write it as 2.90, at most 9,999,999.99, or leave it empty."


def currency_fault(code: str) -> str:
    """Say what is wrong with a currency; "" when nothing is."""
    return "" if _CODE.fullmatch(code) else "Three capital letters, such as EUR."


def read_price(amount: str, currency: str) -> Price | None:
    """Read a price without faults; None when the amount is empty."""
    return Price(int(Decimal(amount.replace(",", ".")) * 100), currency) if amount else None


def money(cents: int, currency: str) -> str:
    """Write an amount of money."""
    return f"{SIGNS.get(currency, currency)} {cents / 100:,.2f}"


def price_of(class_name: str) -> Price | None:
    """Give the price of one unit, None when none is set."""
    found = OfferPresentation.objects.filter(class_name=class_name).first()
    return Price(found.price_cents_per_hour, found.currency) if found else None


def set_price(class_name: str, price: Price | None, *, access: Access) -> None:
    """Set or take away the price of an offer. The same price again changes nothing."""
    if price == price_of(class_name):
        return
    if price is None:
        OfferPresentation.objects.filter(class_name=class_name).delete()
    else:
        OfferPresentation.objects.update_or_create(
            class_name=class_name,
            defaults={"price_cents_per_hour": price.cents, "currency": price.currency},
        )
    shown = f"{price.amount} {price.currency}" if price else "none"
    audit.record("set price", username=access.username, offer=class_name, price=shown)
