"""All objects: in memory for reading, in one SQLite file to survive a kill.

A write is committed to the file before the caller gets its answer. The resourceVersion counter is in the file too and never
goes back. Objects are kept as their JSON bytes: small, immutable, and ready to send.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kube.devserver.history import Change, History
from kube.devserver.served import Object

Key = tuple[str, str]
"""Namespace ("" for cluster-scoped objects) and name."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Record:
    """One stored object at one resourceVersion."""

    key: Key
    uid: str
    version: int
    raw: bytes

    @property
    def object(self) -> Object:
        """A fresh copy, safe to change."""
        decoded: Object = _decode(self.raw)
        return decoded


class Collection:
    """The objects of one resource in the order of their keys, and what happened to them."""

    def __init__(self, *, history_length: int, version: int) -> None:
        self.records: dict[Key, Record] = {}
        self.keys: list[Key] = []
        self.history: History[Record] = History(length=history_length, since=version)

    def put(self, record: Record) -> None:
        if record.key not in self.records:
            insort(self.keys, record.key)
        self.records[record.key] = record

    def drop(self, key: Key) -> None:
        del self.records[key]
        del self.keys[bisect_left(self.keys, key)]

    def within(self, namespace: str | None, *, after: Key | None = None) -> Iterator[Record]:
        """Give the records of a namespace, or all, in the order of their keys; those after a key only, where one is given."""
        first, end = self._range(namespace, after)
        return (self.records[key] for key in self.keys[first:end])

    def count_after(self, key: Key, namespace: str | None) -> int:
        first, end = self._range(namespace, key)
        return end - first

    def _range(self, namespace: str | None, after: Key | None) -> tuple[int, int]:
        first, end = 0, len(self.keys)
        if namespace is not None:
            first = bisect_left(self.keys, (namespace, ""))
            end = bisect_left(self.keys, (namespace + "\0", ""))
        if after is not None:
            first = max(first, bisect_right(self.keys, after))
        return first, max(first, end)


class Store:
    """The collections and the one resourceVersion counter. Not thread-safe: one event loop owns it."""

    def __init__(self, path: Path, *, history_length: int) -> None:
        self._history_length = history_length
        self._collections: dict[str, Collection] = {}
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript(
            """
            PRAGMA journal_mode=WAL;
            PRAGMA synchronous=NORMAL;
            CREATE TABLE IF NOT EXISTS counter (only INTEGER PRIMARY KEY CHECK (only = 1), version INTEGER NOT NULL);
            INSERT OR IGNORE INTO counter VALUES (1, 0);
            CREATE TABLE IF NOT EXISTS objects (
                collection TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
                uid TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL,
                PRIMARY KEY (collection, namespace, name)
            ) WITHOUT ROWID;
            """
        )
        self.version: int = self._db.execute("SELECT version FROM counter").fetchone()[0]
        rows = self._db.execute(
            "SELECT collection, namespace, name, uid, version, body FROM objects ORDER BY collection, namespace, name"
        )
        for name, namespace, object_name, uid, version, body in rows:
            self.collection(name).put(Record((namespace, object_name), uid, version, body))

    def close(self) -> None:
        self._db.close()

    def collection(self, name: str) -> Collection:
        found = self._collections.get(name)
        if found is None:
            found = Collection(history_length=self._history_length, version=self.version)
            self._collections[name] = found
        return found

    def get(self, collection: str, key: Key) -> Record | None:
        return self.collection(collection).records.get(key)

    def put(self, collection: str, key: Key, content: Object) -> Record:
        """Store the object under the next resourceVersion, which is written into it."""
        table = self.collection(collection)
        before = table.records.get(key)
        version = self.version + 1
        record = self._stamped(key, content, version)
        with _Transaction(self._db):
            self._db.execute(
                "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?)",
                (collection, *key, record.uid, version, record.raw),
            )
            self._db.execute("UPDATE counter SET version = ?", (version,))
        self.version = version
        table.put(record)
        table.history.add(Change(version, before, record))
        return record

    def delete(self, collection: str, key: Key, content: Object) -> Record:
        """Remove the object; ``content`` is its last state, told to watchers under the deletion's resourceVersion."""
        table = self.collection(collection)
        before = table.records[key]
        version = self.version + 1
        record = self._stamped(key, content, version)
        with _Transaction(self._db):
            self._db.execute(
                "DELETE FROM objects WHERE collection = ? AND namespace = ? AND name = ?", (collection, *key)
            )
            self._db.execute("UPDATE counter SET version = ?", (version,))
        self.version = version
        table.drop(key)
        table.history.add(Change(version, before, None, last=record))
        return record

    @staticmethod
    def _stamped(key: Key, content: Object, version: int) -> Record:
        metadata: dict[str, Any] = content["metadata"]
        metadata["resourceVersion"] = str(version)
        return Record(key, metadata["uid"], version, _encode(content))


class _Transaction:
    """One commit for the statements inside; nothing of them on an exception."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN")

    def __exit__(self, failed: object, *_: object) -> None:
        self._db.execute("ROLLBACK" if failed else "COMMIT")
