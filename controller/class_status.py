"""What a class publishes: how much is free, whether any node serves it, whether it shares its source.

Every authenticated user may read it, so it names no node and counts nothing but what is free.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from controller.world import World
from controller.writes import Writes
from gpu.conditions import (
    ConditionType,
    ServedReason,
    SourceUnsharedReason,
    served_reason,
    set_condition,
)
from gpu.resources import ConditionStatus, GPUClass, GPUClassStatus
from kube.kinds import GPU_CLASSES

_SERVED_WORDS: Final = {
    ServedReason.SERVED: "At least one node serves the offer.",
    ServedReason.NO_NODE_MATCHES: "No node has the labels the offer asks for.",
    ServedReason.NO_NODE_READY: "Every node that could serve the offer is out of service.",
    ServedReason.TAINT_NOT_TOLERATED: "Nodes that could serve the offer have a taint it does not tolerate.",
    ServedReason.RESOURCE_NOT_ADVERTISED: "No node that could serve the offer advertises its resource.",
}


def class_status(
    gpu_class: GPUClass,
    *,
    free: int | None,
    max_free_per_node: int | None,
    served: ServedReason,
    overlaps: tuple[str, ...],
    now: datetime,
) -> GPUClassStatus:
    """Compute the status; equal to the class's own when there is nothing to write."""
    sharing = SourceUnsharedReason.OVERLAPS_WITH if overlaps else SourceUnsharedReason.UNSHARED
    others = f"Also sold as: {', '.join(overlaps)}." if overlaps else "No other offer sells the same units."
    conditions = gpu_class.status.conditions
    for kind, holds, reason, message in (
        (ConditionType.SERVED, served is ServedReason.SERVED, served.value, _SERVED_WORDS[served]),
        (ConditionType.SOURCE_UNSHARED, not overlaps, sharing.value, others),
    ):
        conditions, _ = set_condition(
            conditions,
            type=kind.value,
            status=ConditionStatus.TRUE if holds else ConditionStatus.FALSE,
            reason=reason,
            message=message,
            now=now,
            generation=gpu_class.metadata.generation or None,
        )
    return GPUClassStatus(free=free, max_free_per_node=max_free_per_node, conditions=conditions)


class ClassPublisher:
    """Writes class statuses when they change. Called by name, one name at a time; the lane's interval limits how often."""

    def __init__(self, writes: Writes, world: World, *, now: Callable[[], datetime]) -> None:
        self._writes = writes
        self._world = world
        self._now = now

    async def look(self, name: str) -> None:
        """Bring one class's status up to date."""
        gpu_class = self._world.classes.get(name)
        if gpu_class is None:
            return
        status = self._status_of(gpu_class)
        if status != gpu_class.status:
            await self._writes.status(GPU_CLASSES, gpu_class.metadata, status)

    def _status_of(self, gpu_class: GPUClass) -> GPUClassStatus:
        name, ledger = gpu_class.metadata.name, self._world.ledger
        capacity = ledger.capacity(name)
        served = (
            ServedReason.SERVED if capacity.has_eligible_node else served_reason(ledger.node_reasons(name))
        )
        return class_status(
            gpu_class,
            free=capacity.free,
            max_free_per_node=capacity.max_free_per_node,
            served=served,
            overlaps=tuple(sorted(ledger.overlaps(name))),
            now=self._now(),
        )
