"""Condition types and reasons of the three kinds, and the one phase a person reads.

A reason is a word a person or a program can act on. Conditions carry what is true; the phase only names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from gpu.eligibility import NodeReason
from gpu.resources import Condition, ConditionStatus, GPUClaim


class ConditionType(StrEnum):
    BOUND = "Bound"
    ATTACHED = "Attached"
    HEALTHY = "Healthy"
    SERVED = "Served"
    SOURCE_UNSHARED = "SourceUnshared"
    CONSISTENT = "Consistent"


class BoundReason(StrEnum):
    """Why a claim has a node, or has none."""

    ALLOCATED = "Allocated"
    NODE_GONE = "NodeGone"
    NODE_REFUSED = "NodeRefused"
    NO_CAPACITY = "NoCapacity"
    CLASS_GONE = "ClassGone"


class AttachedReason(StrEnum):
    """Whether a VM runs with the claim."""

    VIRTUAL_MACHINE_RUNNING = "VirtualMachineRunning"
    VIRTUAL_MACHINE_OFF = "VirtualMachineOff"
    NEVER_ATTACHED = "NeverAttached"


class HealthyReason(StrEnum):
    """What is wrong with a hold that is kept all the same."""

    HEALTHY = "Healthy"
    NODE_CORDONED = "NodeCordoned"
    NODE_NOT_READY = "NodeNotReady"
    OVER_COMMITTED = "OverCommitted"
    CLASS_CHANGED = "ClassChanged"


class ServedReason(StrEnum):
    """Why no node serves a class."""

    SERVED = "Served"
    NO_NODE_MATCHES = "NoNodeMatches"
    NO_NODE_READY = "NoNodeReady"
    TAINT_NOT_TOLERATED = "TaintNotTolerated"
    RESOURCE_NOT_ADVERTISED = "ResourceNotAdvertised"


class SourceUnsharedReason(StrEnum):
    """Whether another class sells the same units."""

    UNSHARED = "Unshared"
    OVERLAPS_WITH = "OverlapsWith"


class ConsistentReason(StrEnum):
    """Whether a node's devices add up to what kubelet counts."""

    DEVICES_ADD_UP = "DevicesAddUp"
    DEVICES_DO_NOT_ADD_UP = "DevicesDoNotAddUp"
    NO_DEVICES_PUBLISHED = "NoDevicesPublished"


class Phase(StrEnum):
    """What a claim is doing, in the words of the pages."""

    HELD = "Held"
    IN_USE = "In use"
    WAITING = "Waiting"
    RELEASING = "Releasing"


def phase(claim: GPUClaim) -> Phase:
    """Name the claim's state. A claim that has no node yet, however new, is Waiting; releasing outranks everything."""
    if claim.is_releasing:
        return Phase.RELEASING
    if not claim.status.node_name:
        return Phase.WAITING
    return Phase.IN_USE if claim.status.attached_to else Phase.HELD


def condition_of(conditions: Iterable[Condition], type: str) -> Condition | None:  # the field's own name
    """Find the condition of that type."""
    return next((condition for condition in conditions if condition.type == type), None)


def set_condition(
    conditions: Iterable[Condition],
    *,
    type: str,  # the field's own name
    status: ConditionStatus,
    reason: str,
    message: str,
    now: datetime,
    generation: int | None,
) -> tuple[list[Condition], bool]:
    """Set one condition and say whether anything changed. The transition time moves only when the status does."""
    kept = list(conditions)
    old = condition_of(kept, type)
    new = Condition(
        type=type,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=old.last_transition_time if old is not None and old.status == status else now,
        observed_generation=generation,
    )
    if new == old:
        return kept, False
    if old is None:
        return [*kept, new], True
    return [new if condition is old else condition for condition in kept], True


def served_reason(node_reasons: Mapping[NodeReason, int]) -> ServedReason:
    """Choose the word for a class no node serves: what stops the node that came nearest.

    ``node_reasons`` counts each node under its most basic reason, as :meth:`gpu.ledger.Ledger.node_reasons` does.
    """
    if node_reasons.get(NodeReason.TAINT_NOT_TOLERATED):
        return ServedReason.TAINT_NOT_TOLERATED
    out_of_service = (
        NodeReason.NOT_SCHEDULABLE,
        NodeReason.NODE_CORDONED,
        NodeReason.NODE_NOT_READY,
        NodeReason.NODE_DELETING,
    )
    if any(node_reasons.get(reason) for reason in out_of_service):
        return ServedReason.NO_NODE_READY
    if node_reasons.get(NodeReason.RESOURCE_NOT_ADVERTISED):
        return ServedReason.RESOURCE_NOT_ADVERTISED
    return ServedReason.NO_NODE_MATCHES
