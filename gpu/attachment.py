"""Pods: which of them run with which claims, and what they ask for beyond.

A pod covers a claim when it is live, its controller is a VirtualMachineInstance, its annotation names the claim, and it is on
the claim's node. Of several such pods the oldest covers it. What a pod asks for above its claims' units is foreign.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gpu.corekinds import Container, Pod
from gpu.holds import ClaimKey
from gpu.quantities import parse_units
from gpu.resources import CLAIMS_ANNOTATION, AttachedTo

if TYPE_CHECKING:
    from gpu.holds import Hold

LAUNCHER_OWNER_KIND: Final = "VirtualMachineInstance"
_OVER: Final = frozenset({"Succeeded", "Failed"})
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class LivePod:
    """A pod that takes units of a node, or might run with claims."""

    __slots__ = ("age", "asks", "claims", "covers", "excess", "node", "owner", "uid")

    def __init__(
        self,
        *,
        uid: str,
        node: str,
        created_at: datetime | None,
        owner: AttachedTo | None,
        claims: tuple[ClaimKey, ...],
        asks: dict[str, int],
    ) -> None:
        self.uid = uid
        self.node = node
        self.age = (created_at or _NEVER, uid)
        self.owner = owner
        self.claims = claims
        self.asks = asks
        self.covers: list[Hold] = []
        self.excess: dict[str, int] = {}

    def is_same(self, other: LivePod) -> bool:
        return (
            self.age == other.age
            and self.node == other.node
            and self.claims == other.claims
            and self.asks == other.asks
            and self.owner == other.owner
        )

    def excess_over(self, covered: Iterable[tuple[str | None, int]]) -> dict[str, int]:
        """Compute what the pod asks for beyond the (resource, units) of the claims it runs with."""
        left = dict(self.asks)
        for resource, units in covered:
            if resource in left:
                left[resource] -= units
        return {resource: units for resource, units in left.items() if units > 0}


def read_pod(pod: Pod) -> LivePod | None:
    """Read what matters of a pod; ``None`` when it is over, has no node, or neither asks for units nor names claims.

    A terminating pod still counts: kubelet gives its devices back only when it is gone.
    """
    node = pod.spec.node_name
    if not node or pod.status.phase in _OVER:
        return None
    asks = requested_units(pod)
    meta = pod.metadata
    named = meta.annotations.get(CLAIMS_ANNOTATION) if meta.annotations else None
    claims: tuple[ClaimKey, ...] = ()
    owner = None
    if named:
        owner = _vm_instance(pod)
        if owner is not None:
            names = dict.fromkeys(name.strip() for name in named.split(","))
            claims = tuple((meta.namespace, name) for name in names if name)
    if not asks and not claims:
        return None
    return LivePod(
        uid=meta.uid, node=node, created_at=meta.creation_timestamp, owner=owner, claims=claims, asks=asks
    )


def requested_units(pod: Pod) -> dict[str, int]:
    """Give the pod's effective request of every extended resource, as the scheduler counts it.

    That is the containers and sidecars together or the hungriest init container with the sidecars started before it,
    whichever is more, plus overhead. Zero and unreadable amounts are left out.
    """
    spec = pod.spec
    together: dict[str, int] = {}
    at_start: dict[str, int] = {}
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            _add(together, _asked(container))
            for resource, units in together.items():
                at_start[resource] = max(at_start.get(resource, 0), units)
        else:
            for resource, units in _asked(container).items():
                at_start[resource] = max(at_start.get(resource, 0), units + together.get(resource, 0))
    for container in spec.containers:
        _add(together, _asked(container))
    for resource, units in at_start.items():
        together[resource] = max(together.get(resource, 0), units)
    if spec.overhead:
        _add(together, _extended(spec.overhead))
    return together


def _asked(container: Container) -> dict[str, int]:
    resources = container.resources
    asked = _extended(resources.limits)
    asked.update(_extended(resources.requests))
    return asked


def _extended(quantities: dict[str, str | int]) -> dict[str, int]:
    found = {}
    for resource, value in quantities.items():
        if "/" in resource:
            units = parse_units(value)
            if units:
                found[resource] = units
    return found


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for resource, units in more.items():
        total[resource] = total.get(resource, 0) + units


def _vm_instance(pod: Pod) -> AttachedTo | None:
    for owner in pod.metadata.owner_references:
        if owner.controller and owner.kind == LAUNCHER_OWNER_KIND:
            return AttachedTo(kind=owner.kind, name=owner.name, uid=owner.uid)
    return None
