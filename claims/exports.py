"""Holds and history as files. The same rows and the same words as on the page, without its limit of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from django.http import StreamingHttpResponse

from claims.hold_page import yaml_of
from claims.hold_rows import hold_rows
from claims.models import OrderEvent
from claims.timeline import event_lines
from portal.export import as_yaml, csv_file, yaml_file
from portal.models import ClaimRecord

HOLD_HEADS = ("tenant", "hold", "offer", "gpus", "state", "meaning", "health", "since")
EVENT_HEADS = ("when", "what", "hold", "offer", "gpus", "who", "why")


def holds_file(
    chunks: Iterable[Sequence[ClaimRecord]], form: str, *, name: str, sees_nodes: bool
) -> StreamingHttpResponse:
    """Give the holds as ``csv`` or ``yaml``; the nodes' names are for the hoster alone."""
    records = chain.from_iterable(chunks)
    if form == "yaml":
        return yaml_file(name, (yaml_of(record, sees_nodes=sees_nodes) for record in records))
    heads = (*HOLD_HEADS, "node") if sees_nodes else HOLD_HEADS
    return csv_file(name, heads, _hold_lines(chunks, sees_nodes=sees_nodes))


def _hold_lines(chunks: Iterable[Sequence[ClaimRecord]], *, sees_nodes: bool) -> Iterator[tuple[object, ...]]:
    made = (hold_rows(records, can_release=False, sees_nodes=sees_nodes) for records in chunks)
    for row in chain.from_iterable(made):
        line = (
            row.namespace,
            row.name,
            row.offer,
            row.count,
            row.phase.word,
            row.words,
            row.health,
            _stamp(row.since),
        )
        yield (*line, row.node) if sees_nodes else line


def history_file(
    chunks: Iterable[Sequence[OrderEvent]], form: str, *, name: str, sees_nodes: bool
) -> StreamingHttpResponse:
    """Give the events as ``csv`` or ``yaml``."""
    lines = chain.from_iterable(event_lines(events, sees_nodes=sees_nodes) for events in chunks)
    rows = (
        (_stamp(line.at), line.title, line.claim_name, line.class_name, line.count, line.who, line.words)
        for line in lines
    )
    if form == "yaml":
        return yaml_file(name, (as_yaml(dict(zip(EVENT_HEADS, row, strict=True))) for row in rows))
    return csv_file(name, EVENT_HEADS, rows)


def _stamp(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else ""
