"""Write one object's row, by compare-and-swap on the state it was decided on."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils import timezone

from kube.kinds import AnyKind
from portal.mirror import clock
from portal.mirror.changes import Change, has_listeners, tell
from portal.mirror.columns import columns_of, decode, key_of, matters, version_of
from portal.models import RECORDS, Record, Tombstone
from portal.nudges import nudge_on_commit

_ATTEMPTS: Final = 5


class Contended(Exception):
    """Others kept changing the row. The next event or the next full sync puts it right."""


def apply(kind: AnyKind, raw: bytes, *, obj: Any = None, at: datetime | None = None) -> bool:
    """Write the object's state unless the row has that or a newer one; say whether anything was written.

    ``raw`` is the object as the API server sent it, ``obj`` the same decoded, where the caller has it. Raises
    msgspec.DecodeError for bytes that are no such object.
    """
    at = at or clock.now()
    if obj is None:
        obj = decode(kind, raw)
    meta = obj.metadata
    if not matters(kind, obj):
        return delete(kind, meta.namespace, meta.name, uid=meta.uid, at=at)

    record = RECORDS[kind.plural]
    key = key_of(kind, meta.namespace, meta.name)
    columns = columns_of(kind, obj, raw, at=at)
    with transaction.atomic():
        for _ in range(_ATTEMPTS):
            row = _read(record, key)
            if row is None:
                if Tombstone.objects.filter(uid=meta.uid).exists():
                    return False
                if not _insert(record, key, columns):
                    continue
            elif not supersedes(row.uid, row.resource_version, meta.uid, meta.resource_version):
                return False
            elif not _swap(record, key, row, columns):
                continue
            _announce(kind, meta.namespace, meta.name, row, obj, at, meta.resource_version)
            return True
    raise Contended(f"{kind.plural} {meta.namespace}/{meta.name}")


def delete(
    kind: AnyKind, namespace: str | None, name: str, *, uid: str | None = None, at: datetime | None = None
) -> bool:
    """Remove the row of the object with this uid (or whichever is there), for good; say whether there was one."""
    at = at or timezone.now()
    record = RECORDS[kind.plural]
    key = key_of(kind, namespace, name)
    with transaction.atomic():
        row = _read(record, key)
        gone = uid or (row.uid if row is not None else "")
        if gone:
            Tombstone.objects.bulk_create([Tombstone(uid=gone, gone_at=at)], ignore_conflicts=True)
        if row is None or row.uid != gone:
            return False
        if not record._default_manager.filter(**key, uid=gone).delete()[0]:
            return False
        _announce(kind, namespace or "", name, row, None, at, row.resource_version)
    return True


def supersedes(old_uid: str, old_version: str, uid: str, version: str) -> bool:
    """Say whether a state is newer than the one in the row. The server counts all states of a kind in one row of numbers."""
    if old_uid == uid and old_version == version:
        return False
    old, new = version_of(old_version), version_of(version)
    return not old or not new or new > old


def _read(record: type[Record], key: dict[str, str]) -> Record | None:
    return record._default_manager.filter(**key).first()


def _insert(record: type[Record], key: dict[str, str], columns: dict[str, Any]) -> bool:
    try:
        with transaction.atomic():
            record._default_manager.create(**key, **columns)
    except IntegrityError:
        return False
    return True


def _swap(record: type[Record], key: dict[str, str], row: Record, columns: dict[str, Any]) -> bool:
    seen = record._default_manager.filter(**key, uid=row.uid, resource_version=row.resource_version)
    return seen.update(**columns) == 1


def _announce(
    kind: AnyKind, namespace: str, name: str, row: Record | None, obj: Any, at: datetime, revision: str
) -> None:
    if has_listeners(kind):
        before = None if row is None else decode(kind, bytes(row.body))
        tell(kind, [Change(kind, namespace, name, before, obj, at)])
    nudge_on_commit(kind.plural, namespace, revision)
