"""A hundred thousand claims in memory: share what is equal, drop what nobody here reads.

Decoding makes a new string for every "Allocated" and a new dict for every absent label. The objects stay as they were in all that
the controller compares or writes.
"""

from __future__ import annotations

from functools import lru_cache
from sys import intern
from typing import Final

from gpu.corekinds import OwnerReference
from gpu.resources import Condition, GPUClaim, GPUClaimSpec

_NO_LABELS: Final[dict[str, str]] = {}
_NO_OWNERS: Final[list[OwnerReference]] = []


def slim(claim: GPUClaim) -> GPUClaim:
    """Make a freshly decoded claim smaller, in place, and give it back."""
    metadata, status = claim.metadata, claim.status
    metadata.namespace = intern(metadata.namespace)
    metadata.labels = metadata.annotations = _NO_LABELS
    metadata.owner_references = _NO_OWNERS
    claim.spec = _shared_spec(claim.spec)
    if status.node_name:
        status.node_name = intern(status.node_name)
    status.conditions = [_shared_condition(condition) for condition in status.conditions]
    return claim


@lru_cache(maxsize=4096)
def _shared_spec(spec: GPUClaimSpec) -> GPUClaimSpec:
    return spec


@lru_cache(maxsize=16384)
def _shared_condition(condition: Condition) -> Condition:
    """Share whole conditions where the time is equal too, else their words."""
    return Condition(
        type=intern(condition.type),
        status=condition.status,
        reason=intern(condition.reason),
        message=intern(condition.message),
        last_transition_time=condition.last_transition_time,
        observed_generation=condition.observed_generation,
    )
