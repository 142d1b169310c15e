"""A hundred thousand claims in memory: share what is equal, drop what nobody here reads.

Decoding makes a new string for every "Allocated", a new dict for every absent label and a new time for every condition of one
write. The objects stay as they were in all that the controller compares or writes. What is shared is never changed in place.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from sys import intern
from typing import Final

from gpu.corekinds import Node, NodeStatus, ObjectMeta, OwnerReference
from gpu.resources import AttachedTo, Condition, GPUClaim, GPUClaimSpec, GPUNode, NodeResource, RefusedNode

_NO_LABELS: Final[dict[str, str]] = {}
_NO_OWNERS: Final[list[OwnerReference]] = []
_NO_REFUSALS: Final[list[RefusedNode]] = []
Quantities = dict[str, str | int]


def slim(claim: GPUClaim) -> GPUClaim:
    """Make a freshly decoded claim smaller, in place, and give it back."""
    metadata, status = claim.metadata, claim.status
    _slim_metadata(metadata)
    metadata.namespace = intern(metadata.namespace)
    claim.spec = _shared_spec(claim.spec)
    if status.node_name:
        status.node_name = intern(status.node_name)
    if status.bound_at is not None:
        status.bound_at = _shared_time(status.bound_at)
    if status.attached_to is not None:
        at = status.attached_to
        status.attached_to = AttachedTo(kind=intern(at.kind), name=at.name, uid=at.uid)
    status.conditions = [_shared_condition(condition) for condition in status.conditions]
    if not status.refused_nodes:
        status.refused_nodes = _NO_REFUSALS
    return claim


def slim_node(node: Node) -> Node:
    """Give what a look at a node needs: who it is, whether it is cordoned, and its extended resources."""
    return Node(
        metadata=_slim_metadata(ObjectMeta(name=node.metadata.name, uid=node.metadata.uid)),
        spec=node.spec,
        status=NodeStatus(
            capacity=_extended(node.status.capacity), allocatable=_extended(node.status.allocatable)
        ),
    )


def slim_gpu_node(gpu_node: GPUNode) -> GPUNode:
    """Make a freshly decoded GPUNode smaller, in place, and give it back."""
    _slim_metadata(gpu_node.metadata)
    status = gpu_node.status
    status.resources = [_shared_resource(resource) for resource in status.resources]
    status.conditions = [_shared_condition(condition) for condition in status.conditions]
    return gpu_node


def _slim_metadata(metadata: ObjectMeta) -> ObjectMeta:
    metadata.labels = metadata.annotations = _NO_LABELS
    metadata.owner_references = _NO_OWNERS
    metadata.finalizers = _shared_names(tuple(metadata.finalizers))
    if metadata.creation_timestamp is not None:
        metadata.creation_timestamp = _shared_time(metadata.creation_timestamp)
    return metadata


def _extended(quantities: Quantities) -> Quantities:
    return _shared_quantities(tuple((name, value) for name, value in quantities.items() if "/" in name))


@lru_cache(maxsize=4096)
def _shared_quantities(items: tuple[tuple[str, str | int], ...]) -> Quantities:
    return {intern(name): value for name, value in items}


@lru_cache(maxsize=256)
def _shared_names(names: tuple[str, ...]) -> list[str]:
    return [intern(name) for name in names]


@lru_cache(maxsize=64)  # the times of one write come together
def _shared_time(at: datetime) -> datetime:
    return at


@lru_cache(maxsize=4096)
def _shared_resource(resource: NodeResource) -> NodeResource:
    return resource


@lru_cache(maxsize=4096)
def _shared_spec(spec: GPUClaimSpec) -> GPUClaimSpec:
    return spec


def _shared_condition(condition: Condition) -> Condition:
    """Share the words and the time; few conditions are equal as a whole."""
    return Condition(
        type=intern(condition.type),
        status=condition.status,
        reason=intern(condition.reason),
        message=intern(condition.message),
        last_transition_time=_shared_time(condition.last_transition_time),
        observed_generation=condition.observed_generation,
    )
