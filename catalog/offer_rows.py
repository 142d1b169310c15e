"""The rows of the offers list and of the overview: one per offer, with its stock. For the hoster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.db.models import Case, F, IntegerField, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.urls import reverse

from catalog.cards import facts_of, stock_bar
from catalog.offer_states import NOT_SERVED_WORDS, OfferState, state_of
from catalog.unit_bar import UnitBar
from gpu.conditions import ConditionType, condition_of
from portal.freshness import freshness
from portal.listing import Column
from portal.models import ClassRecord, ClassStock
from portal.pills import Pill
from portal.querysets import ClassQuerySet

UNKNOWN_LAST: Final = -1


def _stock_of(name: str) -> Coalesce:
    """One number of an offer's stock."""
    stock = ClassStock.objects.filter(class_name=OuterRef("name")).values(name)[:1]
    return Coalesce(Subquery(stock), UNKNOWN_LAST, output_field=IntegerField())


_BIGGEST: Final = Case(
    When(max_free_per_node=None, then=Value(UNKNOWN_LAST)),
    When(max_count__lt=F("max_free_per_node"), then=F("max_count")),
    default=F("max_free_per_node"),
    output_field=IntegerField(),
)
_FREE: Final = Coalesce("free", UNKNOWN_LAST, output_field=IntegerField())

OFFER_COLUMNS: Final = (
    Column("Offer", "name"),
    Column("What it is", "model"),
    Column("Resource", "resource_name"),
    Column("State"),
    Column("Units", "units", "num", by=_stock_of("units")),
    Column("Free", "units_free", "num", by=_FREE),
    Column("Biggest order", "biggest", "num", by=_BIGGEST),
    Column("", css="end"),
)
STOCK_COLUMNS: Final = (
    Column("Offer", "title"),
    Column("Stock"),
    Column("State", "state"),
    Column("Units", "units", "num"),
    Column("In use", "in_use", "num"),
    Column("Held", "held", "num"),
    Column("Foreign", "foreign", "num"),
    Column("Out", "out_of_service", "num"),
    Column("Free", "free", "num"),
    Column("Biggest order", "biggest", "num"),
)


@dataclass(frozen=True, kw_only=True)
class OfferRow:
    """One offer with its stock; None is unknown."""

    name: str
    title: str
    facts: str
    resource: str
    state: Pill
    why: str
    bar: UnitBar | None
    units: int | None
    out_of_service: int | None
    held: int | None
    in_use: int | None
    foreign: int | None
    free: int | None
    biggest: int | None
    edit_url: str
    delete_url: str

    @property
    def say(self) -> str:
        return f"{self.title}: {self.state.word}, {'unknown' if self.free is None else self.free} free"


def offers_like(words: str) -> ClassQuerySet:
    """Give the offers in which every word is found."""
    rows = ClassRecord.objects.all()
    for word in words.split()[:5]:
        found = Q(name__icontains=word) | Q(display_name__icontains=word) | Q(model__icontains=word)
        rows = rows.filter(found | Q(vendor__icontains=word) | Q(resource_name__icontains=word))
    return rows


def is_like(record: ClassRecord, words: str) -> bool:
    """Say the same as :func:`offers_like` of an offer that was fetched already."""
    text = " ".join((record.name, record.display_name, record.model, record.vendor, record.resource_name))
    return all(word.lower() in text.lower() for word in words.split()[:5])


def offer_rows(records: Iterable[ClassRecord]) -> list[OfferRow]:
    """Make the rows, with one query for all stock."""
    records = list(records)
    stock = {
        row.class_name: row
        for row in ClassStock.objects.filter(class_name__in=[record.name for record in records])
    }
    is_known = not freshness().is_stale
    return [_row(record, stock.get(record.name), is_known) for record in records]


def in_order(rows: Iterable[OfferRow], wished: str) -> list[OfferRow]:
    """Sort the rows as a head of the overview asks; what is unknown is less than nothing."""
    field = wished.removeprefix("-")

    def key(row: OfferRow) -> tuple[object, ...]:
        value = getattr(row, field)
        if isinstance(value, Pill):
            value = value.word
        if isinstance(value, str):
            return (value.lower(), row.name)
        return (UNKNOWN_LAST if value is None else value, row.name)

    return sorted(rows, key=key, reverse=wished.startswith("-"))


def _row(record: ClassRecord, stock: ClassStock | None, is_known: bool) -> OfferRow:
    counted = stock if is_known else None
    limits = [limit for limit in (record.max_free_per_node, record.max_count) if limit is not None]
    state = state_of(free=record.free, is_served=record.is_served, is_known=is_known)
    return OfferRow(
        name=record.name,
        title=record.title,
        facts=facts_of(record),
        resource=record.resource_name,
        state=state.pill,
        why=_why(record) if state is OfferState.NOT_SERVED else "",
        bar=stock_bar(counted) if counted else None,
        units=counted.units if counted else None,
        out_of_service=counted.out_of_service if counted else None,
        held=counted.held - counted.in_use if counted else None,
        in_use=counted.in_use if counted else None,
        foreign=counted.foreign if counted else None,
        free=record.free if is_known else None,
        biggest=min(limits) if is_known and record.max_free_per_node is not None else None,
        edit_url=reverse("offer-edit", args=[record.name]),
        delete_url=reverse("offer-delete", args=[record.name]),
    )


def _why(record: ClassRecord) -> str:
    served = condition_of(record.object.status.conditions, ConditionType.SERVED)
    return NOT_SERVED_WORDS.get(served.reason, served.message) if served else ""
