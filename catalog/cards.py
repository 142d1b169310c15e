"""The cards of the catalog: one per offer, with what the viewer may see and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from django.urls import reverse
from django.utils.http import urlencode

from catalog.models import OfferPresentation
from catalog.offer_states import OfferState, state_of
from catalog.prices import money
from catalog.unit_bar import Part, UnitBar, draw
from gpu.quantities import format_memory
from gpu.resources import Mode
from portal.models import ClassRecord, ClassStock

CHIPS: Final = (1, 2, 4, 8)
_VENDORS: Final = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}


@dataclass(frozen=True)
class Chip:
    """ "N x": lit when an order of so many fits now; then it leads to that order."""

    count: int
    fits: bool
    url: str


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """What the cards depend on beside the offers.

    ``held`` is the tenant's own units per offer, ``largest`` the biggest order that its budgets and the stock allow now.
    ``stock`` is for the hoster alone.
    """

    tenant: str = ""
    can_order: bool = False
    is_known: bool = True
    held: Mapping[str, int] = field(default_factory=dict)
    largest: Mapping[str, int] = field(default_factory=dict)
    stock: Mapping[str, ClassStock] = field(default_factory=dict)
    prices: Mapping[str, OfferPresentation] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Card:
    """One offer as shown. ``biggest`` is the largest order that fits now, None when unknown."""

    name: str
    title: str
    facts: str
    state: OfferState
    bar: UnitBar
    free: int | None
    note: str
    biggest: int | None
    chips: tuple[Chip, ...]
    price: str
    order_url: str
    edit_url: str

    @property
    def say(self) -> str:
        """What a screen reader is told when it changes."""
        count = "free unknown" if self.free is None else f"{self.free} free"
        return f"{self.title}: {self.state.pill.word}, {count}"

    @property
    def is_quiet(self) -> bool:
        return self.state.rank == 2


def vendor_word(vendor: str) -> str:
    """Write a vendor as the vendor does."""
    return _VENDORS.get(vendor.lower(), vendor)


def facts_of(record: ClassRecord) -> str:
    """Say what the offer is in one line: vendor, how, memory."""
    how = f"vGPU {record.profile}" if record.mode == Mode.VGPU else "passthrough"
    parts = [vendor_word(record.vendor), record.model, how]
    if record.object.spec.memory is not None:
        parts.append(format_memory(record.object.spec.memory))
    return " · ".join(part for part in parts if part)


def card_of(record: ClassRecord, viewer: Viewer) -> Card:
    """Make the card of one offer."""
    state = state_of(free=record.free, is_served=record.is_served, is_known=viewer.is_known)
    free = None if state is OfferState.UNKNOWN else record.free
    on_one_node = _on_one_node(record)
    biggest = None if free is None else viewer.largest.get(record.name, on_one_node)
    order_url = _order_url(record, viewer, state)
    price = viewer.prices.get(record.name)
    return Card(
        name=record.name,
        title=record.title,
        facts=facts_of(record),
        state=state,
        bar=_bar(record, viewer, free),
        free=free,
        note=_note(record, state, on_one_node, biggest or 0),
        biggest=biggest,
        chips=_chips(biggest, order_url) if free is not None else (),
        price=price_words(price) if price else "",
        order_url=order_url,
        edit_url=reverse("offer-edit", args=[record.name]) if viewer.stock else "",
    )


def price_words(price: OfferPresentation) -> str:
    """Write the price of one unit."""
    return f"{money(price.price_cents_per_hour, price.currency)} / h each"


def _order_url(record: ClassRecord, viewer: Viewer, state: OfferState) -> str:
    if not viewer.can_order or not viewer.tenant or state.rank == 2:
        return ""
    return f"{reverse('order', args=[viewer.tenant])}?{urlencode({'class': record.name})}"


def _on_one_node(record: ClassRecord) -> int:
    """Give the largest single order for whoever has no budget: one node, and the offer's own limit."""
    limits = (record.free, record.max_free_per_node, record.max_count)
    return max(0, min((limit for limit in limits if limit is not None), default=0))


def _note(record: ClassRecord, state: OfferState, on_one_node: int, biggest: int) -> str:
    if state is OfferState.UNKNOWN:
        return "orders are still checked"
    if state is OfferState.NOT_SERVED:
        return "no node serves it now"
    if not record.free:
        return ""
    if biggest < on_one_node:
        return f"your budget leaves {biggest}"
    return "1 per VM" if record.max_count == 1 else f"up to {biggest} in one VM"


def _chips(biggest: int | None, order_url: str) -> tuple[Chip, ...]:
    return tuple(
        Chip(count, (biggest or 0) >= count, f"{order_url}&count={count}" if order_url else "")
        for count in CHIPS
    )


def _bar(record: ClassRecord, viewer: Viewer, free: int | None) -> UnitBar:
    stock = viewer.stock.get(record.name)
    if stock is not None:
        return stock_bar(stock)
    return draw((Part("yours", viewer.held.get(record.name, 0), "yours"), Part("free", free or 0, "free")))


def stock_bar(stock: ClassStock) -> UnitBar:
    """Draw all units of an offer, for the hoster."""
    return draw(
        (
            Part("in-use", stock.in_use, "in use"),
            Part("held", stock.held - stock.in_use, "held"),
            Part("foreign", stock.foreign, "foreign"),
            Part("free", stock.free, "free"),
            Part("out", stock.out_of_service, "out of service"),
        )
    )
