"""The rows of the holds list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from django.db.models import OuterRef, Q, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.urls import reverse

from claims.hold_words import health_words, phase_pill, phase_words
from gpu.conditions import Phase
from portal.listing import Column
from portal.models import ClaimRecord, ClassRecord
from portal.pills import Pill
from portal.querysets import ClaimQuerySet

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)

COLUMNS: Final = (
    Column("Hold", "name"),
    Column("Offer", "class_name"),
    Column("GPUs", "count", "num"),
    Column("State", "phase"),
    Column("Since", "since", by=Coalesce("deleting_since", "bound_at", "created_at", Value(_LONG_AGO))),
    Column("", css="end"),
)
ALL_COLUMNS: Final = (Column("Tenant", "namespace"), *COLUMNS[:4], Column("Node", "node_name"), *COLUMNS[4:])


@dataclass(frozen=True, kw_only=True)
class HoldRow:
    """One hold as the list shows it. ``node`` is filled for the hoster alone; ``why_not`` says why it cannot be released."""

    key: str
    choice: str
    namespace: str
    name: str
    offer: str
    count: int
    phase: Pill
    words: str
    health: str
    since: datetime | None
    url: str
    release_url: str
    why_not: str
    vm: str = ""
    node: str = ""
    node_url: str = ""

    @property
    def say(self) -> str:
        """What a screen reader is told when it changes."""
        return f"{self.name}: {self.phase.word}, {self.words}"


def hold_rows(
    records: Iterable[ClaimRecord], *, can_release: bool, sees_nodes: bool = False
) -> list[HoldRow]:
    """Make the rows of records that :func:`titled` gave."""
    return [
        _row(record, getattr(record, "offer_title", "") or record.class_name, can_release, sees_nodes)
        for record in records
    ]


def titled(rows: ClaimQuerySet) -> ClaimQuerySet:
    """Bring along what people call the offer of each hold."""
    offer = ClassRecord.objects.filter(name=OuterRef("class_name"))
    return rows.annotate(offer_title=Subquery(offer.values("display_name")[:1]))


def _row(record: ClaimRecord, offer: str, can_release: bool, sees_nodes: bool) -> HoldRow:
    is_releasing = record.phase == Phase.RELEASING
    why_not = "Being released already" if is_releasing else "" if can_release else "You may look, not release"
    url = f"{_holds_url(record.namespace)}{record.name}/"
    return HoldRow(
        key=f"{record.namespace}-{record.name}".replace(".", "_"),
        choice=f"{record.name}/{record.uid}",
        namespace=record.namespace,
        name=record.name,
        offer=offer,
        count=record.count,
        phase=phase_pill(record.phase),
        words=phase_words(record),
        health=health_words(record),
        since=record.deleting_since or record.bound_at or record.created_at,
        url=url,
        release_url="" if why_not else f"{url}release/",
        why_not=why_not,
        vm=record.attached_name,
        node=record.node_name if sees_nodes else "",
        node_url=f"{_nodes_url()}{record.node_name}/" if sees_nodes and record.node_name else "",
    )


@lru_cache(maxsize=1024)
def _holds_url(namespace: str) -> str:
    """Names of holds are DNS names, so they stand in an address as they are: looking each up would cost more than the row."""
    return reverse("holds", args=[namespace])


@lru_cache(maxsize=1)
def _nodes_url() -> str:
    return reverse("nodes")


def title_of(class_name: str) -> str:
    """Give what a person calls the offer, also when it is gone."""
    offer = ClassRecord.objects.filter(name=class_name).first()
    return offer.title if offer else class_name


def narrowed(rows: ClaimQuerySet, *, words: str, phase: str, sees_nodes: bool = False) -> ClaimQuerySet:
    """Keep the holds that every word is found in, and of one phase if one is given."""
    for word in words.split()[:5]:
        found = Q(name__icontains=word) | Q(class_name__icontains=word) | Q(attached_name__icontains=word)
        found |= Q(namespace__icontains=word) | Q(set_name__icontains=word)
        rows = rows.filter(found | Q(node_name__icontains=word) if sees_nodes else found)
    return rows.filter(phase=phase) if phase in set(Phase) else rows


def totals(rows: ClaimQuerySet) -> tuple[int, int]:
    """Give how many holds there are and how many units they hold."""
    summed = rows.order_by().aggregate(units=Sum("count"), holds=Sum(1, default=0))
    return summed["holds"] or 0, summed["units"] or 0
