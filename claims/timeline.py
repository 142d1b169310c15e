"""History in words: what happened to an order. Node names are for the hoster alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from claims.hold_words import WAITING_WORDS
from claims.models import EventKind, OrderEvent
from gpu.fit import Reason, Refusal
from gpu.sentences import sentence
from portal.listing import Column
from portal.pills import Pill

HISTORY_COLUMNS: Final = (
    Column("When", "at"),
    Column("What", "kind"),
    Column("Hold", "claim_name"),
    Column("Offer", "class_name"),
    Column("GPUs", "count", "num"),
    Column("Who", "username"),
    Column("Why"),
)


@dataclass(frozen=True)
class EventLine:
    """One thing that happened."""

    at: datetime
    title: str
    words: str
    who: str
    is_refusal: bool
    claim_name: str
    class_name: str
    count: int
    pill: Pill


_PILLS = {
    EventKind.ORDERED: Pill("Ordered", "plus", "use"),
    EventKind.REFUSED: Pill("Refused", "x", "out"),
    EventKind.BOUND: Pill("Held", "lock", "ok"),
    EventKind.ATTACHED: Pill("VM started", "circle-dot", "use"),
    EventKind.DETACHED: Pill("VM stopped", "circle-pause", "ok"),
    EventKind.MOVED: Pill("Moved", "arrow-right", "use"),
    EventKind.WAITING: Pill("Waiting", "hourglass", "low"),
    EventKind.REFUSED_BY_NODE: Pill("Refused by its node", "triangle-alert", "low"),
    EventKind.RELEASED: Pill("Released", "rotate-ccw", "unknown"),
}


_BY_PEOPLE: Final = frozenset({EventKind.ORDERED, EventKind.REFUSED, EventKind.RELEASED})


def event_lines(events: Iterable[OrderEvent], *, sees_nodes: bool) -> list[EventLine]:
    """Word the events, in the order given."""
    return [_line(event, sees_nodes) for event in events]


def _line(event: OrderEvent, sees_nodes: bool) -> EventLine:
    kind = EventKind(event.kind)
    words = _words(event, kind)
    if sees_nodes and event.node_name:
        words = f"{words} Node {event.node_name}.".strip()
    return EventLine(
        at=event.at,
        title=str(kind.label),
        words=words,
        who=event.username or ("outside the portal" if kind in _BY_PEOPLE else "the cluster"),
        is_refusal=kind in {EventKind.REFUSED, EventKind.REFUSED_BY_NODE},
        claim_name=event.claim_name,
        class_name=event.class_name,
        count=event.count,
        pill=_PILLS[kind],
    )


def _words(event: OrderEvent, kind: EventKind) -> str:
    if kind is EventKind.REFUSED:
        return " ".join(sentence(refusal) for refusal in _refusals(event))
    if kind in {EventKind.ATTACHED, EventKind.DETACHED}:
        return f"VM {event.data.get('vm', '?')}."
    if kind is EventKind.WAITING:
        return WAITING_WORDS.get(event.data.get("reason", ""), "").capitalize()
    return ""


def _refusals(event: OrderEvent) -> list[Refusal]:
    known = {reason.value for reason in Reason}
    return [
        Refusal(Reason(entry["reason"]), entry.get("numbers", {}))
        for entry in event.data.get("refusals", [])
        if entry.get("reason") in known
    ]
