"""What a claim's status should say, from what the ledger and the world say about it. Pure; the binder writes it.

Messages name no node: a tenant may read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from controller.refusals import still_refused
from gpu.conditions import (
    AttachedReason,
    BoundReason,
    ConditionType,
    HealthyReason,
    condition_of,
    set_condition,
)
from gpu.resources import (
    RELEASE_FINALIZER,
    AttachedTo,
    Condition,
    ConditionStatus,
    GPUClaim,
    GPUClaimStatus,
    RefusedNode,
)

_BOUND_WORDS: Final = {
    BoundReason.ALLOCATED: "The units are held on a node.",
    BoundReason.NODE_GONE: "The node is away and no other node has room. The claim keeps its place in the queue.",
    BoundReason.NODE_REFUSED: "The node refused the VM and no other one has room. The claim keeps its place in the queue.",
    BoundReason.NO_CAPACITY: "No node has room. The claim keeps its place in the queue.",
    BoundReason.CLASS_GONE: "The offer does not exist.",
}
_ATTACHED_WORDS: Final = {
    AttachedReason.VIRTUAL_MACHINE_RUNNING: "A VM runs with the units.",
    AttachedReason.VIRTUAL_MACHINE_OFF: "No VM runs with the units; they stay held.",
    AttachedReason.NEVER_ATTACHED: "No VM has run with the units yet; they are held.",
}
_HEALTHY_WORDS: Final = {
    HealthyReason.HEALTHY: "",
    HealthyReason.NODE_CORDONED: "The node is cordoned.",
    HealthyReason.NODE_NOT_READY: "The node is not ready.",
    HealthyReason.OVER_COMMITTED: "The node reports fewer units than are held on it.",
    HealthyReason.CLASS_CHANGED: "The offer was changed or removed since; the hold is kept.",
}


@dataclass(frozen=True)
class Situation:
    """How a claim stands now. ``node_name`` None: it waits, because of ``waits_for``."""

    node_name: str | None
    waits_for: BoundReason = BoundReason.NO_CAPACITY
    attached_to: AttachedTo | None = None
    health: HealthyReason = HealthyReason.HEALTHY


def claim_status(
    claim: GPUClaim, situation: Situation, *, now: datetime, refused: list[RefusedNode] | None = None
) -> GPUClaimStatus:
    """Compute the status; equal to the claim's own when there is nothing to write.

    ``refused`` replaces the refused nodes; without it the recorded ones stay until they have run out.
    """
    old = claim.status
    node_name = situation.node_name
    is_rebound = node_name != old.node_name or old.bound_at is None
    return GPUClaimStatus(
        node_name=node_name,
        bound_at=None if node_name is None else now if is_rebound else old.bound_at,
        attached_to=situation.attached_to,
        refused_nodes=still_refused(old.refused_nodes, now) if refused is None else refused,
        conditions=_conditions(claim, situation, now),
        observed_generation=claim.metadata.generation or None,
    )


def wanted_finalizers(claim: GPUClaim, *, is_attached: bool) -> list[str] | None:
    """Give the finalizers the claim should have, or None when it has them.

    Only a claim a VM runs with is kept back from deletion, and none can be added once deletion has begun.
    """
    finalizers = claim.metadata.finalizers
    has_ours = RELEASE_FINALIZER in finalizers
    if is_attached and not has_ours and not claim.is_releasing:
        return [*finalizers, RELEASE_FINALIZER]
    if not is_attached and has_ours:
        return [name for name in finalizers if name != RELEASE_FINALIZER]
    return None


def _conditions(claim: GPUClaim, situation: Situation, now: datetime) -> list[Condition]:
    is_bound = situation.node_name is not None
    bound = BoundReason.ALLOCATED if is_bound else situation.waits_for
    attached = _attached_reason(claim, situation)
    wanted = (
        (ConditionType.BOUND, is_bound, bound, _BOUND_WORDS[bound]),
        (ConditionType.ATTACHED, situation.attached_to is not None, attached, _ATTACHED_WORDS[attached]),
        (
            ConditionType.HEALTHY,
            situation.health is HealthyReason.HEALTHY,
            situation.health,
            _HEALTHY_WORDS[situation.health],
        ),
    )
    conditions = claim.status.conditions
    for kind, holds, reason, message in wanted:
        conditions, _ = set_condition(
            conditions,
            type=kind.value,
            status=ConditionStatus.TRUE if holds else ConditionStatus.FALSE,
            reason=reason.value,
            message=message,
            now=now,
            generation=claim.metadata.generation or None,
        )
    return conditions


def _attached_reason(claim: GPUClaim, situation: Situation) -> AttachedReason:
    if situation.attached_to is not None:
        return AttachedReason.VIRTUAL_MACHINE_RUNNING
    before = condition_of(claim.status.conditions, ConditionType.ATTACHED)
    if before is None or before.reason == AttachedReason.NEVER_ATTACHED:
        return AttachedReason.NEVER_ATTACHED
    return AttachedReason.VIRTUAL_MACHINE_OFF
