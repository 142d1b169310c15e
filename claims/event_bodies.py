"""An order event as JSON. What names a node is for hosters alone."""

from __future__ import annotations

from typing import Any

import msgspec

from claims.models import OrderEvent
from gpu.fit import Reason, Refusal
from gpu.sentences import sentence


def event_body(event: OrderEvent, *, is_hoster: bool) -> bytes:
    body: dict[str, Any] = {
        "kind": "OrderEvent",
        "metadata": {"name": str(event.pk), "namespace": event.namespace},
        "type": event.kind,
        "at": event.at,
        "claim": {"name": event.claim_name, "uid": event.claim_uid},
        "className": event.class_name,
        "count": event.count,
        "username": event.username,
    }
    refusals = refusals_of(event)
    if refusals:
        body["reasons"] = [
            {**refusal.numbers, "reason": refusal.reason.value, "message": sentence(refusal)}
            for refusal in refusals
        ]
    body.update({name: event.data[name] for name in ("vm", "reason") if name in event.data})
    if is_hoster and event.node_name:
        body["nodeName"] = event.node_name
    return msgspec.json.encode(body)


def refusals_of(event: OrderEvent) -> tuple[Refusal, ...]:
    """Give the reasons a refused order was given."""
    return tuple(
        Refusal(Reason(refusal["reason"]), refusal["numbers"]) for refusal in event.data.get("refusals", ())
    )
