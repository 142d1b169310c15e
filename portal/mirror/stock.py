"""The stock tables: what a ledger says about every node and class, for the hoster's pages.

The mirror process keeps a ledger up to date and writes what changed (:class:`StockWriter`); where there is none, the full sync
counts everything anew from the rows (:func:`recount`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.db import transaction

from gpu.ledger import Ledger
from kube.kinds import AnyKind
from portal.mirror.chunks import chunks
from portal.models import RECORDS, ClassStock, NodeStock
from portal.nudges import nudge_on_commit

_CELL = ("capacity", "allocatable", "held", "in_use", "foreign", "free", "over_committed")
_TOTALS = ("units", "out_of_service", "held", "in_use", "foreign", "free")


def feed(ledger: Ledger, kind: AnyKind, obj: Any) -> None:
    """Tell the ledger the object's state."""
    match kind.plural:
        case "gpuclasses":
            ledger.set_class(obj)
        case "gpuclaims":
            ledger.set_claim(obj)
        case "nodes":
            ledger.set_node(obj)
        case "pods":
            ledger.set_pod(obj)
        case "resourcequotas":
            ledger.set_quota(obj)
        case "namespaces":
            ledger.set_namespace(obj)


def forget(ledger: Ledger, kind: AnyKind, namespace: str, name: str) -> None:
    """Tell the ledger that the object is gone."""
    match kind.plural:
        case "gpuclasses":
            ledger.remove_class(name)
        case "gpuclaims":
            ledger.remove_claim(namespace, name)
        case "nodes":
            ledger.remove_node(name)
        case "pods":
            ledger.remove_pod(namespace, name)
        case "resourcequotas":
            ledger.remove_quota(namespace, name)
        case "namespaces":
            ledger.remove_namespace(name)


def write_cells(ledger: Ledger, cells: Iterable[tuple[str, str]]) -> bool:
    """Write these nodes' stock of these resources where it differs; say whether anything did. Empty cells have no row."""
    is_changed = False
    for some in chunks(sorted(set(cells))):
        is_changed |= _write_some_cells(ledger, some)
    return is_changed


def _write_some_cells(ledger: Ledger, cells: list[tuple[str, str]]) -> bool:
    wanted = set(cells)
    found = NodeStock.objects.filter(node__in={node for node, _ in wanted})
    rows = {(row.node, row.resource): row for row in found if (row.node, row.resource) in wanted}
    fresh: list[NodeStock] = []
    is_changed = False
    for node, resource in cells:
        cell = ledger.cell(node, resource)
        now = {name: getattr(cell, name) for name in _CELL}
        row = rows.get((node, resource))
        if not any(now.values()):
            if row is not None:
                row.delete()
                is_changed = True
        elif row is None:
            fresh.append(NodeStock(node=node, resource=resource, **now))
        elif any(getattr(row, name) != value for name, value in now.items()):
            NodeStock.objects.filter(pk=row.pk).update(**now)
            is_changed = True
    NodeStock.objects.bulk_create(
        fresh, update_conflicts=True, unique_fields=["node", "resource"], update_fields=list(_CELL)
    )
    return is_changed or bool(fresh)


def write_totals(ledger: Ledger, classes: Iterable[str], *, offered: set[str]) -> bool:
    """Write these classes' totals where they differ; say whether any did."""
    wanted = set(classes)
    rows = {row.class_name: row for row in ClassStock.objects.filter(class_name__in=wanted)}
    fresh: list[ClassStock] = []
    is_changed = False
    for name in sorted(wanted):
        row = rows.get(name)
        if name not in offered:
            if row is not None:
                row.delete()
                is_changed = True
            continue
        totals = ledger.class_totals(name)
        now = {field: getattr(totals, field) for field in _TOTALS}
        if row is None:
            fresh.append(ClassStock(class_name=name, **now))
        elif any(getattr(row, field) != value for field, value in now.items()):
            ClassStock.objects.filter(pk=name).update(**now)
            is_changed = True
    ClassStock.objects.bulk_create(
        fresh, update_conflicts=True, unique_fields=["class_name"], update_fields=list(_TOTALS)
    )
    return is_changed or bool(fresh)


def recount(*, is_wanted: Callable[[], bool] = lambda: True) -> bool:
    """Count the whole stock from the rows and write what differs; say whether it was wanted.

    ``is_wanted`` is asked in the transaction that writes: counting takes a while, and what was counted grows old.
    """
    ledger = Ledger()
    for record in RECORDS.values():
        for row in record._default_manager.all().iterator(chunk_size=2000):
            feed(ledger, record.KIND, row._decoded())
    changes = ledger.take_changes()
    cells = changes.cells | set(NodeStock.objects.values_list("node", "resource"))
    classes = set(RECORDS["gpuclasses"]._default_manager.values_list("name", flat=True))
    with transaction.atomic():
        if not is_wanted():
            return False
        write_cells(ledger, cells)
        write_totals(
            ledger, classes | set(ClassStock.objects.values_list("class_name", flat=True)), offered=classes
        )
        nudge_on_commit("stock", "", "sync")
    return True
