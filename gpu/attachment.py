"""Pods: which of them run with which claims, and what they ask for beyond.

A pod covers a claim when it is live, its controller is a VirtualMachineInstance, its annotation names the claim, and it is on
the claim's node. Of several such pods the oldest covers it. What a pod asks for above its claims' units is foreign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from functools import lru_cache
from sys import intern
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from gpu.corekinds import Container, ContainerResources, OwnerReference, Pod
from gpu.holds import ClaimKey
from gpu.quantities import parse_units
from gpu.resources import CLAIMS_ANNOTATION, AttachedTo

if TYPE_CHECKING:
    from gpu.holds import Hold

LAUNCHER_OWNER_KIND: Final = "VirtualMachineInstance"
_OVER: Final = frozenset({"Succeeded", "Failed"})
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@lru_cache(maxsize=4096)
def _shared_asks(items: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    """Tens of thousands of pods ask for the same few things: one mapping for all of them."""
    return MappingProxyType({intern(resource): units for resource, units in items})


class LivePod:
    """A pod that takes units of a node, or might run with claims. Its containers are replaced, never changed."""

    __slots__ = ("asks", "claims", "covers", "created_at", "excess", "node", "owner", "uid")

    def __init__(
        self,
        uid: str,
        node: str,
        created_at: datetime | None,
        owner: OwnerReference | None,
        claims: tuple[ClaimKey, ...],
        asks: Mapping[str, int],
    ) -> None:
        self.uid = uid
        self.node = intern(node)
        self.created_at = created_at
        self.owner = owner
        self.claims = claims
        self.asks = _shared_asks(tuple(asks.items()))
        self.covers: tuple[Hold, ...] = ()
        self.excess: Mapping[str, int] = _NOTHING

    def is_older_than(self, other: LivePod) -> bool:
        return (self.created_at or _NEVER, self.uid) < (other.created_at or _NEVER, other.uid)

    @property
    def vm_instance(self) -> AttachedTo | None:
        owner = self.owner
        return AttachedTo(kind=owner.kind, name=owner.name, uid=owner.uid) if owner is not None else None

    def is_same(self, other: LivePod) -> bool:
        return (
            self.uid == other.uid
            and self.created_at == other.created_at
            and self.node == other.node
            and self.claims == other.claims
            and self.asks == other.asks
            and self.owner == other.owner
        )

    def excess_over_claims(
        self, resource_of: Mapping[str, str], counted: AbstractSet[str]
    ) -> Mapping[str, int]:
        """Compute what the pod asks for beyond the claims it runs with, of the ``counted`` resources.

        ``resource_of`` is by class name.
        """
        excess: dict[str, int] | None = None
        for resource, units in self.asks.items():
            if resource in counted:
                for hold in self.covers:
                    if resource_of.get(hold.class_name) == resource:
                        units -= hold.units
                if units > 0:
                    excess = excess or {}
                    excess[resource] = units
        return excess or _NOTHING


def read_pod(pod: Pod) -> LivePod | None:
    """Read what matters of a pod; ``None`` when it is over, has no node, or neither asks for units nor names claims.

    A terminating pod still counts: kubelet gives its devices back only when it is gone.
    """
    node = pod.spec.node_name
    if not node or pod.status.phase in _OVER:
        return None
    asks = requested_units(pod)
    meta = pod.metadata
    claims: tuple[ClaimKey, ...] = ()
    owner = None
    named = meta.annotations.get(CLAIMS_ANNOTATION)
    if named:
        owner = _vm_instance(meta.owner_references)
        if owner is not None:
            names = dict.fromkeys(map(str.strip, named.split(","))) if "," in named else (named.strip(),)
            namespace = intern(meta.namespace)
            claims = tuple([(namespace, name) for name in names if name])
    if not asks and not claims:
        return None
    return LivePod(meta.uid, node, meta.creation_timestamp, owner, claims, asks)


def requested_units(pod: Pod) -> dict[str, int]:
    """Give the pod's effective request of every extended resource, as the scheduler counts it.

    That is the containers and sidecars together or the hungriest init container with the sidecars started before it,
    whichever is more, plus overhead. Zero and unreadable amounts are left out.
    """
    spec = pod.spec
    together: dict[str, int] = {}
    at_start = _asked_at_start(spec.init_containers, together) if spec.init_containers else _NOTHING
    for container in spec.containers:
        _add(together, container.resources)
    for resource, units in at_start.items():
        together[resource] = max(together.get(resource, 0), units)
    if spec.overhead:
        _add(together, ContainerResources(requests=spec.overhead))
    return together


def _asked_at_start(containers: Iterable[Container], together: dict[str, int]) -> dict[str, int]:
    """Give the most that is asked for while the pod starts, and add the sidecars to what runs ``together``."""
    at_start: dict[str, int] = {}
    for container in containers:
        if container.restart_policy == "Always":
            _add(together, container.resources)
        else:
            asked = dict(together)
            _add(asked, container.resources)
            for resource, units in asked.items():
                at_start[resource] = max(at_start.get(resource, 0), units)
    return at_start


def _add(total: dict[str, int], resources: ContainerResources) -> None:
    """Add what one container asks for. A limit without a request is one: the API server fills it in."""
    requests = resources.requests
    for resource, value in requests.items():
        if "/" in resource:
            units = parse_units(value)
            if units:
                total[resource] = total.get(resource, 0) + units
    for resource, value in resources.limits.items():
        if resource not in requests and "/" in resource:
            units = parse_units(value)
            if units:
                total[resource] = total.get(resource, 0) + units


def _vm_instance(owners: Iterable[OwnerReference]) -> OwnerReference | None:
    for owner in owners:
        if owner.controller and owner.kind == LAUNCHER_OWNER_KIND:
            return OwnerReference(
                api_version=intern(owner.api_version),
                kind=LAUNCHER_OWNER_KIND,
                name=owner.name,
                uid=owner.uid,
                controller=True,
            )
    return None
