"""Nodes as the hoster sees them: state, taints, and each resource in units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.db.models import Case, F, IntegerField, OuterRef, Q, Subquery, Sum, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from django.urls import reverse

from catalog.unit_bar import Part, UnitBar, draw
from portal.freshness import freshness
from portal.listing import Column
from portal.models import NodeRecord, NodeStock
from portal.pills import Pill
from portal.querysets import NodeQuerySet


def _sum_of(amount: str | Combinable) -> Coalesce:
    """Add up one number over all resources of a node."""
    cells = NodeStock.objects.filter(node=OuterRef("name")).order_by().values("node")
    return Coalesce(
        Subquery(cells.annotate(total=Sum(amount)).values("total")), 0, output_field=IntegerField()
    )


_IS_OPEN: Final = When(ready=True, cordoned=False, deleting_since=None, then=_sum_of("free"))
NODE_COLUMNS: Final = (
    Column("Node", "name"),
    Column("State", "ready"),
    Column("Resource"),
    Column("Units", "units", "num", by=_sum_of("capacity")),
    Column("In use", "in_use", "num", by=_sum_of("in_use")),
    Column("Held", "held", "num", by=_sum_of(F("held") - F("in_use"))),
    Column("Foreign", "foreign", "num", by=_sum_of("foreign")),
    Column("Free", "free", "num", by=Case(_IS_OPEN, default=0, output_field=IntegerField())),
    Column("Taints", "taints"),
)
_READY: Final = Pill("Ready", "check", "ok")
_NOT_READY: Final = Pill("Not ready", "x", "out")
_CORDONED: Final = Pill("Cordoned", "ban", "low")
_LEAVING: Final = Pill("Being deleted", "trash-2", "low")


@dataclass(frozen=True)
class CellRow:
    """One resource of one node; None is unknown."""

    resource: str
    capacity: int | None
    allocatable: int | None
    in_use: int | None
    held: int | None
    foreign: int | None
    free: int | None
    bar: UnitBar | None
    note: str

    @property
    def say(self) -> str:
        return f"{self.resource}: {'unknown' if self.free is None else self.free} free"


@dataclass(frozen=True)
class NodeRow:
    name: str
    state: Pill
    cells: tuple[CellRow, ...]
    taints: tuple[str, ...]
    url: str

    @property
    def say(self) -> str:
        return f"{self.name}: {self.state.word}"


def node_state(record: NodeRecord) -> Pill:
    """Name the state that matters most."""
    if record.deleting_since:
        return _LEAVING
    if not record.ready:
        return _NOT_READY
    return _CORDONED if record.cordoned else _READY


def nodes_like(words: str, state: str) -> NodeQuerySet:
    """Give the nodes in which every word is found (name, taints), of one state if one is given."""
    rows = NodeRecord.objects.all()
    for word in words.split()[:5]:
        rows = rows.filter(Q(name__icontains=word) | Q(taints__icontains=word))
    if state == "ready":
        return rows.usable()
    if state == "cordoned":
        return rows.filter(cordoned=True)
    return rows.filter(ready=False) if state == "not-ready" else rows


def node_rows(records: Iterable[NodeRecord]) -> list[NodeRow]:
    """Make the rows, with one query for all cells."""
    records = list(records)
    cells: dict[str, list[NodeStock]] = {}
    names = [record.name for record in records]
    is_known = not freshness().is_stale
    for cell in NodeStock.objects.filter(node__in=names).order_by("node", "resource"):
        cells.setdefault(cell.node, []).append(cell)
    return [
        NodeRow(
            name=record.name,
            state=node_state(record),
            cells=tuple(
                cell_row(cell, serves=serves(record), is_known=is_known)
                for cell in cells.get(record.name, [])
                if cell.capacity or cell.held
            ),
            taints=taints_of(record),
            url=reverse("node", args=[record.name]),
        )
        for record in records
    ]


def taints_of(record: NodeRecord) -> tuple[str, ...]:
    """Give the taints as kubectl writes them."""
    return tuple(line for line in record.taints.splitlines() if line)


def serves(record: NodeRecord) -> bool:
    """Say whether the node takes new holds at all, whatever its taints."""
    return record.ready and not record.cordoned and record.deleting_since is None


def cell_row(cell: NodeStock, *, serves: bool, is_known: bool) -> CellRow:
    """Count one resource of a node the hoster's way: held is what no VM uses, and a node that is closed has nothing free.

    Without live data nothing is known: numbers of a while ago are not shown as if they were of now.
    """
    if not is_known:
        return CellRow(cell.resource, None, None, None, None, None, None, None, "")
    sick = max(0, cell.capacity - cell.allocatable)
    kept = cell.held - cell.in_use
    free = cell.free if serves else 0
    parts = (
        Part("in-use", cell.in_use, "in use"),
        Part("held", kept, "held"),
        Part("foreign", cell.foreign, "foreign"),
        Part("free", free, "free"),
        Part("out", cell.capacity - cell.held - cell.foreign - free, "out of service"),
    )
    return CellRow(
        resource=cell.resource,
        capacity=cell.capacity,
        allocatable=cell.allocatable,
        in_use=cell.in_use,
        held=kept,
        foreign=cell.foreign,
        free=free,
        bar=draw(parts),
        note=_note(cell, sick, closed=cell.free - free),
    )


def _note(cell: NodeStock, sick: int, *, closed: int) -> str:
    if cell.over_committed:
        return f"over-committed by {cell.over_committed}"
    if not cell.capacity and not cell.allocatable:
        return "the device plugin reports none"
    if sick:
        return f"{sick} of {cell.capacity} out of order"
    return f"{closed} out of service with the node" if closed else ""
