"""What the page of one node shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from catalog.cordon_fates import Fate, fates
from catalog.node_rows import cell_row, node_state, serves, taints_of
from gpu.quantities import format_memory
from gpu.resources import Device
from portal.freshness import freshness
from portal.models import ClaimRecord, GPUNodeRecord, NodeRecord, NodeStock
from portal.pills import Pill

CLAIMS_SHOWN: Final = 200
_WELL: Final = frozenset({"healthy", "ok", "good"})


@dataclass(frozen=True)
class DeviceRow:
    id: str
    resource: str
    model: str
    profile: str
    units: int
    health: Pill


@dataclass(frozen=True)
class HoldLine:
    """A hold on the node, and what would become of it."""

    claim: ClaimRecord
    fate: Fate


def node_page(record: NodeRecord) -> dict[str, Any]:
    """Collect it."""
    gpu_node = GPUNodeRecord.objects.filter(name=record.name).first()
    claims = ClaimRecord.objects.on_node(record.name).in_order()
    shown = list(claims[:CLAIMS_SHOWN])
    node = record.object
    is_known = not freshness().is_stale
    return {
        "record": record,
        "state": node_state(record),
        "ready_since": next(
            (c.last_transition_time for c in node.status.conditions or () if c.type == "Ready"), None
        ),
        "taints": taints_of(record),
        "labels": sorted(record.labels.items()),
        "memory": format_memory(node.status.allocatable.get("memory", "?")),
        "cells": [
            cell_row(cell, serves=serves(record), is_known=is_known)
            for cell in NodeStock.objects.on_node(record.name)
        ],
        "devices": [_device(device) for device in gpu_node.object.status.devices] if gpu_node else [],
        "adds_up": gpu_node.is_consistent if gpu_node else None,
        "claims": [HoldLine(claim, fate) for claim, fate in _fated(record.name, shown)],
        "claim_count": claims.count(),
    }


def _fated(node_name: str, claims: list[ClaimRecord]) -> Iterator[tuple[ClaimRecord, Fate]]:
    by_key = fates(node_name, claims)
    return ((claim, by_key[claim.pk]) for claim in claims)


def _device(device: Device) -> DeviceRow:
    is_well = device.health.lower() in _WELL
    health = Pill(device.health, "check", "ok") if is_well else Pill(device.health or "unknown", "x", "out")
    return DeviceRow(
        device.id, device.resource_name, device.model, device.profile or "", device.allocatable, health
    )
