"""Write what several watches told, a batch at a time: records, stock and freshness in one transaction.

The work of the mirror process without the process: no loop, no sockets, so that it can be tried with hand-made events.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.db import transaction

from gpu.ledger import Ledger
from kube.answers import Item
from kube.kinds import AnyKind
from kube.watching import Event, EventType
from portal.mirror import feeds, stock
from portal.mirror.columns import matters
from portal.mirror.listing import apply_many, remove_missing
from portal.mirror.writing import delete
from portal.models import RECORDS, ClassStock, NodeStock
from portal.nudges import nudge_on_commit

Told = tuple[AnyKind, Event[Any]]

_STATES: Final = (EventType.ADDED, EventType.MODIFIED)
_PRESENT: Final = (*_STATES, EventType.UNREADABLE)
_FEED_EVERY: Final = timedelta(seconds=1)
_log = structlog.get_logger(__name__)


class BatchWriter:
    """Keeps the ledger and writes batches. A batch that failed is written again; repeating one changes nothing."""

    def __init__(self, *, started_at: datetime) -> None:
        """``started_at``: before any of the lists that the watches begin with, by :mod:`portal.mirror.clock`."""
        self.ledger = Ledger()
        self._started_at = started_at
        self._told: dict[str, set[tuple[str, str]]] = {plural: set() for plural in RECORDS}
        self._classes: set[str] = set()
        self._listed: set[str] = set()
        self._connected: set[str] = set()
        self._fed_at: dict[str, datetime] = {}
        self._is_counted = False
        self._cells_due: set[tuple[str, str]] = set()
        self._classes_due: set[str] = set()
        self._budgets_due: set[str] = set()

    def write(self, batch: Sequence[Told], *, at: datetime) -> None:
        """Write the batch. Raises django.db.Error, and then nothing of it is written."""
        for kind, event in batch:
            self._count(kind, event)
            if kind.plural in self._told and event.type in _PRESENT:
                self._told[kind.plural].add((event.namespace, event.name))
        changes = self.ledger.take_changes()
        self._cells_due |= changes.cells
        self._classes_due |= changes.classes
        self._budgets_due |= changes.quotas

        is_complete = self._listed >= RECORDS.keys()
        fed: list[str] = []
        with transaction.atomic():
            for kind in {kind.plural: kind for kind, _ in batch}.values():
                events = [event for other, event in batch if other is kind]
                _write_records(kind, events, at=at)
                self._remove_what_was_missed(kind, events)
                if self._write_feed(kind, events, at=at):
                    fed.append(kind.plural)
            if is_complete:
                self._write_stock()
        self._fed_at |= dict.fromkeys(fed, at)
        if is_complete:
            self._is_counted = True
            self._cells_due.clear()
            self._classes_due.clear()
            self._budgets_due.clear()
        for kind, event in batch:
            if event.type is EventType.LISTED:
                self._told.pop(kind.plural, None)

    def _count(self, kind: AnyKind, event: Event[Any]) -> None:
        if event.type in _STATES:
            if matters(kind, event.object):
                stock.feed(self.ledger, kind, event.object)
            if kind.plural == "gpuclasses":
                self._classes.add(event.name)
        elif event.type is EventType.DELETED:
            stock.forget(self.ledger, kind, event.namespace, event.name)
            if kind.plural == "gpuclasses":
                self._classes.discard(event.name)
        elif event.type is EventType.LISTED:
            self._listed.add(kind.plural)
            self._connected.add(kind.plural)
            # With the whole list goes a look at the whole stock: the database may have lost what was written.
            self._is_counted = False
        elif event.type is EventType.DISCONNECTED:
            self._connected.discard(kind.plural)
        elif event.type is EventType.UNREADABLE:
            _log.error(
                "an object cannot be read", kind=kind.plural, namespace=event.namespace, name=event.name
            )

    def _remove_what_was_missed(self, kind: AnyKind, events: list[Event[Any]]) -> None:
        """Remove, at the first complete picture, the rows of what went while nobody watched."""
        told = self._told.get(kind.plural)
        if told is not None and any(event.type is EventType.LISTED for event in events):
            remove_missing(kind, told, list_started=self._started_at)

    def _write_feed(self, kind: AnyKind, events: list[Event[Any]], *, at: datetime) -> bool:
        """Any word from the server is proof that the rows are right, while the watch is connected. Say whether it was noted.

        After a loss that is only so again when a whole list has come: its first pages say nothing of what stands on the others.
        """
        types = {event.type for event in events}
        if EventType.DISCONNECTED in types:
            feeds.lost([kind.plural])
        if kind.plural not in self._connected:
            return False
        last = self._fed_at.get(kind.plural, at - _FEED_EVERY)
        if not types & {EventType.DISCONNECTED, EventType.LISTED} and at - last < _FEED_EVERY:
            return False
        # "live" every time: the full sync takes a mirror that was late for dead.
        feeds.live(kind.plural, since=at)
        return True

    def _write_stock(self) -> None:
        cells, classes = self._cells_due, self._classes_due
        if not self._is_counted:
            cells = cells | set(self.ledger.cells()) | set(NodeStock.objects.values_list("node", "resource"))
            classes = classes | self._classes | set(ClassStock.objects.values_list("class_name", flat=True))
        is_changed = stock.write_cells(self.ledger, cells)
        if stock.write_totals(self.ledger, classes, offered=self._classes) or is_changed:
            nudge_on_commit("stock", "", "")
        for namespace in sorted(self.ledger.budgets.around(self._budgets_due)):
            nudge_on_commit("budgets", namespace, "")


def _write_records(kind: AnyKind, events: list[Event[Any]], *, at: datetime) -> None:
    """Write the states in their order, as many at once as name different objects."""
    run: dict[tuple[str, str], Item[Any]] = {}
    for event in events:
        key = (event.namespace, event.name)
        if event.type is EventType.DELETED:
            apply_many(kind, run.values())
            run = {}
            if event.object is None or matters(kind, event.object):
                delete(kind, event.namespace, event.name, uid=event.uid or None, at=at)
        elif event.type in _STATES:
            if key in run:
                apply_many(kind, run.values())
                run = {}
            run[key] = Item(event.object, event.raw or b"")
    apply_many(kind, run.values())
