"""Make a kind's rows equal to a whole list, without ever putting older state over newer.

A list takes time, and the watch or a write of ours may be ahead of it. So a row that was written after the list started is left
alone, unless the list has a newer version of it; and a row that the list lacks is removed only when it was written before. Both
times are :mod:`portal.mirror.clock`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from kube.answers import Item, Listing
from kube.kinds import AnyKind
from portal.mirror import clock, feeds
from portal.mirror.changes import Change, has_listeners, tell
from portal.mirror.chunks import chunks
from portal.mirror.columns import columns_of, decode, key_of, matters
from portal.mirror.inserting import insert_missing
from portal.mirror.writing import supersedes
from portal.models import RECORDS, Record, Tombstone
from portal.nudges import nudge_on_commit

Key = tuple[str, str]

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a full sync had to repair."""

    written: int
    removed: int


@dataclass(frozen=True, slots=True)
class _Row:
    uid: str
    resource_version: str
    mirrored_at: datetime


def replace_all(kind: AnyKind, listing: Listing[Any], *, list_started: datetime) -> Replaced:
    """Write what the list has and the rows lack, remove what it lacks, and note the kind as synced when the list started."""
    rows = _rows(kind)
    wanted = {
        (i.object.metadata.namespace, i.object.metadata.name): i
        for i in listing.items
        if matters(kind, i.object)
    }
    late = [item for key, item in wanted.items() if _is_late(rows.get(key), item, list_started)]
    written = sum(_write_some(kind, some, list_started) for some in chunks(late))

    there = set(wanted) | {(item.namespace, item.name) for item in listing.unreadable}
    removed = _remove(kind, rows, there, list_started)
    feeds.synced(kind.plural, at=list_started)
    return Replaced(written, removed)


def apply_many(kind: AnyKind, items: Iterable[Item[Any]]) -> int:
    """Do for many objects, each named once, what :func:`portal.mirror.writing.apply` does for one."""
    relevant = [item for item in items if matters(kind, item.object)]
    return sum(_write_some(kind, some, _NEVER) for some in chunks(relevant))


def remove_missing(kind: AnyKind, there: set[Key], *, list_started: datetime) -> int:
    """Remove the rows of objects that a list, started then, no longer had."""
    return _remove(kind, _rows(kind), there, list_started)


def _remove(kind: AnyKind, rows: dict[Key, _Row], there: set[Key], list_started: datetime) -> int:
    if ("", "") in there:
        return 0  # the list has an object that cannot even be named: it may be any
    gone = [key for key, row in rows.items() if key not in there and row.mirrored_at < list_started]
    return sum(_remove_some(kind, some, list_started) for some in chunks(gone))


def _rows(kind: AnyKind) -> dict[Key, _Row]:
    record = RECORDS[kind.plural]
    names = ("namespace", "name") if kind.namespaced else ("name",)
    values = record._default_manager.values_list(*names, "uid", "resource_version", "mirrored_at")
    if kind.namespaced:
        return {(ns, name): _Row(*state) for ns, name, *state in values.iterator(chunk_size=5000)}
    return {("", name): _Row(*state) for name, *state in values.iterator(chunk_size=5000)}


def _is_late(row: _Row | None, item: Item[Any], list_started: datetime) -> bool:
    """Say whether the row lacks what the list has."""
    meta = item.object.metadata
    if row is None:
        return True
    if row.uid == meta.uid and row.resource_version == meta.resource_version:
        return False
    return row.mirrored_at < list_started or supersedes(
        row.uid, row.resource_version, meta.uid, meta.resource_version
    )


def _write_some(kind: AnyKind, items: list[Item[Any]], list_started: datetime) -> int:
    record = RECORDS[kind.plural]
    at = clock.now()
    with transaction.atomic():
        uids = [item.object.metadata.uid for item in items]
        dead = set(Tombstone.objects.filter(uid__in=uids).values_list("uid", flat=True))
        present = _present(kind, items)
        fresh: list[Record] = []
        changes: list[Change] = []
        for item in items:
            meta = item.object.metadata
            if meta.uid in dead:
                continue
            key = key_of(kind, meta.namespace, meta.name)
            columns = columns_of(kind, item.object, item.raw, at=at)
            row = present.get((meta.namespace, meta.name))
            if row is None:
                fresh.append(record(**key, **columns))
            elif not _is_late(_state(row), item, list_started) or not (
                record._default_manager.filter(
                    **key, uid=row.uid, resource_version=row.resource_version
                ).update(**columns)
            ):
                continue
            changes.append(_change(kind, meta.namespace, meta.name, row, item.object, at))
        insert_missing(record, fresh)
        _announce(kind, changes)
    return len(changes)


def _remove_some(kind: AnyKind, keys: list[Key], list_started: datetime) -> int:
    record = RECORDS[kind.plural]
    at = timezone.now()
    changes: list[Change] = []
    with transaction.atomic():
        for namespace, name in keys:
            old = record._default_manager.filter(
                **key_of(kind, namespace, name), mirrored_at__lt=list_started
            )
            row = old.first()
            if row is not None and old.filter(uid=row.uid, resource_version=row.resource_version).delete()[0]:
                changes.append(_change(kind, namespace, name, row, None, at))
        _announce(kind, changes)
    return len(changes)


def _present(kind: AnyKind, items: list[Item[Any]]) -> dict[Key, Record]:
    record = RECORDS[kind.plural]
    wanted: dict[str, Any] = {"name__in": [item.object.metadata.name for item in items]}
    if kind.namespaced:
        wanted["namespace__in"] = {item.object.metadata.namespace for item in items}
    return {
        (getattr(row, "namespace", ""), row.name): row for row in record._default_manager.filter(**wanted)
    }


def _state(row: Record) -> _Row:
    return _Row(row.uid, row.resource_version, row.mirrored_at)


def _change(kind: AnyKind, namespace: str, name: str, row: Record | None, after: Any, at: datetime) -> Change:
    before = None
    if row is not None and has_listeners(kind):
        before = decode(kind, bytes(row.body))
    return Change(kind, namespace, name, before, after, at)


def _announce(kind: AnyKind, changes: list[Change]) -> None:
    tell(kind, changes)
    for namespace in sorted({change.namespace for change in changes}):
        nudge_on_commit(kind.plural, namespace, "sync")
