"""What the page of one hold shows."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import yaml

from claims.hold_rows import hold_rows
from claims.hold_words import condition_lines
from claims.models import OrderEvent
from claims.redaction import for_tenant
from claims.timeline import event_lines
from gpu.resources import API_VERSION, CLAIMS_ANNOTATION
from portal.access import Access
from portal.export import without_noise
from portal.models import ClaimRecord

EVENTS_SHOWN: Final = 200


def hold_page(access: Access, record: ClaimRecord) -> dict[str, Any]:
    """Collect it: facts, timeline, conditions, how to use it, YAML."""
    can_release = access.can_order(record.namespace)
    known = OrderEvent.objects.of_claim(record.namespace, record.name, record.uid)
    newest = list(known.newest_first()[: EVENTS_SHOWN + 1])
    return {
        "tenant": record.namespace,
        "record": record,
        "row": hold_rows([record], can_release=can_release, sees_nodes=access.is_hoster)[0],
        "events": event_lines(reversed(newest[:EVENTS_SHOWN]), sees_nodes=access.is_hoster),
        "events_shown": EVENTS_SHOWN if len(newest) > EVENTS_SHOWN else None,
        "conditions": condition_lines(record.object),
        "annotation": f'{CLAIMS_ANNOTATION}: "{_names_of_set(record)}"',
        "yaml": yaml_of(record, sees_nodes=access.is_hoster),
    }


def yaml_of(record: ClaimRecord, *, sees_nodes: bool) -> str:
    """Write the object as kubectl shows it; for a tenant without the names of nodes."""
    raw = bytes(record.body) if sees_nodes else for_tenant(bytes(record.body))
    body = msgspec.json.decode(raw)
    body.setdefault("apiVersion", API_VERSION)
    body.setdefault("kind", "GPUClaim")
    body = without_noise(body)
    ordered = {key: body[key] for key in ("apiVersion", "kind", "metadata", "spec", "status") if key in body}
    return yaml.safe_dump(ordered, sort_keys=False)


def _names_of_set(record: ClaimRecord) -> str:
    """Give all holds of the set: one VM takes them together."""
    if not record.set_name:
        return record.name
    names = ClaimRecord.objects.of_set(record.namespace, record.set_name).alive().order_by("name")
    return ",".join(names.values_list("name", flat=True)[:64]) or record.name
