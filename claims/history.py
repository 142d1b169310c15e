"""Writing history: what people did through the portal, and what the mirror saw happen to a claim.

Both may see the same thing (an order placed here also arrives by the watch); the mark of an event keeps it from being written twice,
and the one that knows the person wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from claims.models import EventKind, OrderEvent
from claims.orders import OrderSpec
from gpu.conditions import ConditionType, condition_of
from gpu.fit import Refusal
from gpu.resources import ConditionStatus, GPUClaim
from portal.mirror import Change
from portal.mirror.inserting import insert_missing


def record_ordered(claim: GPUClaim, *, username: str, now: datetime) -> None:
    """Remember who placed this order. Safe to repeat."""
    _record_person(claim, EventKind.ORDERED, username=username, at=claim.metadata.creation_timestamp or now)


def record_released(claim: GPUClaim, *, username: str, now: datetime) -> None:
    """Remember who released this claim. Safe to repeat: the first one to release it stays."""
    _record_person(claim, EventKind.RELEASED, username=username, at=now)


def record_refused(spec: OrderSpec, refusals: Iterable[Refusal], *, username: str, now: datetime) -> None:
    """Remember an order that was refused, with all its reasons."""
    OrderEvent.objects.create(
        at=now,
        kind=EventKind.REFUSED,
        namespace=spec.namespace,
        claim_name=spec.name,
        class_name=spec.class_name,
        count=spec.count,
        username=username,
        data={
            "refusals": [{"reason": refusal.reason.value, "numbers": refusal.numbers} for refusal in refusals]
        },
    )


def record_changes(changes: Iterable[Change]) -> None:
    """Remember what the mirror saw happen to claims. Safe to repeat."""
    events = [
        event for change in changes for event in events_between(change.before, change.after, now=change.at)
    ]
    insert_missing(OrderEvent, events)


def events_between(old: GPUClaim | None, new: GPUClaim | None, *, now: datetime) -> list[OrderEvent]:
    """Give what must have happened, oldest first. ``now`` stands in where the objects do not say when."""
    if old is not None and new is not None and old.metadata.uid != new.metadata.uid:
        return [*_events(old, None, now), *_events(None, new, now)]
    return list(_events(old, new, now))


def _record_person(claim: GPUClaim, kind: EventKind, *, username: str, at: datetime) -> None:
    event, is_new = OrderEvent.objects.get_or_create(
        claim_uid=claim.metadata.uid,
        kind=kind,
        mark="",
        defaults={**_subject(claim), "at": at, "username": username},
    )
    if not is_new and not event.username:
        OrderEvent.objects.filter(id=event.id, username="").update(username=username)


def _events(old: GPUClaim | None, new: GPUClaim | None, now: datetime) -> Iterator[OrderEvent]:
    if new is None:
        if old is not None and not old.is_releasing:
            yield _event(old, EventKind.RELEASED, at=now)
        return
    if old is None:
        yield _event(new, EventKind.ORDERED, at=new.metadata.creation_timestamp or now)
    yield from _node_events(old, new, now)
    yield from _vm_events(old, new, now)
    if new.is_releasing and (old is None or not old.is_releasing):
        yield _event(new, EventKind.RELEASED, at=new.metadata.deletion_timestamp or now)


def _node_events(old: GPUClaim | None, new: GPUClaim, now: datetime) -> Iterator[OrderEvent]:
    before = old.status.node_name if old else None
    known = set(old.status.refused_nodes) if old else set()
    for refused in new.status.refused_nodes:
        if refused not in known:
            yield _event(
                new,
                EventKind.REFUSED_BY_NODE,
                at=now,
                node_name=refused.node_name,
                mark=f"{refused.node_name} {refused.expires_at.isoformat()}",
                data={"reason": refused.reason},
            )
    if _waits(new) and not (old and _waits(old)):
        bound = condition_of(new.status.conditions, ConditionType.BOUND)
        at = bound.last_transition_time if bound else now
        reason = bound.reason if bound else ""
        yield _event(new, EventKind.WAITING, at=at, mark=at.isoformat(), data={"reason": reason})
    if new.status.node_name and new.status.node_name != before:
        at = new.status.bound_at or now
        yield _event(
            new,
            EventKind.MOVED if before else EventKind.BOUND,
            at=at,
            node_name=new.status.node_name,
            mark=f"{new.status.node_name} {at.isoformat()}",
        )


def _vm_events(old: GPUClaim | None, new: GPUClaim, now: datetime) -> Iterator[OrderEvent]:
    before = old.status.attached_to if old else None
    after = new.status.attached_to
    if (before.uid if before else None) == (after.uid if after else None):
        return
    attached = condition_of(new.status.conditions, ConditionType.ATTACHED)
    at = attached.last_transition_time if attached else now
    if before:
        yield _event(new, EventKind.DETACHED, at=at, mark=before.uid, data={"vm": before.name})
    if after:
        yield _event(new, EventKind.ATTACHED, at=at, mark=after.uid, data={"vm": after.name})


def _waits(claim: GPUClaim) -> bool:
    """Whether the claim lost its node or got none; one that was ordered a moment ago has no condition yet."""
    bound = condition_of(claim.status.conditions, ConditionType.BOUND)
    return bound is not None and bound.status is ConditionStatus.FALSE


def _event(
    claim: GPUClaim,
    kind: EventKind,
    *,
    at: datetime,
    mark: str = "",
    node_name: str = "",
    data: dict[str, Any] | None = None,
) -> OrderEvent:
    return OrderEvent(
        # The API server's clock says when it was ordered, the controller's when it was bound.
        at=max(at, claim.metadata.creation_timestamp or at),
        kind=kind,
        claim_uid=claim.metadata.uid,
        mark=mark,
        node_name=node_name,
        data=data or {},
        **_subject(claim),
    )


def _subject(claim: GPUClaim) -> dict[str, Any]:
    return {
        "namespace": claim.metadata.namespace,
        "claim_name": claim.metadata.name,
        "class_name": claim.spec.class_name,
        "count": claim.spec.count,
    }
