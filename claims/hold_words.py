"""A hold in words: its phase, what that means, and what is wrong with it. For the tenant: no node is ever named."""

from __future__ import annotations

from typing import Final

from claims.redaction import words_of
from gpu.conditions import AttachedReason, ConditionType, Phase, condition_of
from gpu.resources import ConditionStatus, GPUClaim
from portal.models import ClaimRecord
from portal.pills import Pill

PHASES: Final = {
    Phase.HELD: Pill("Held", "lock", "ok"),
    Phase.IN_USE: Pill("In use", "circle-dot", "use"),
    Phase.WAITING: Pill("Waiting", "hourglass", "low"),
    Phase.RELEASING: Pill("Releasing", "rotate-ccw", "unknown"),
}
_UNKNOWN: Final = Pill("Unknown", "circle-question-mark", "unknown")
WAITING_WORDS: Final = {
    "NodeGone": "its node is gone; it keeps its place and gets another",
    "NodeRefused": "its node would not start the VM; it gets another",
    "NoCapacity": "nothing fits right now; it keeps its place",
    "ClassGone": "its offer no longer exists",
}
_UNHEALTHY: Final = {
    "NodeCordoned": "its node takes no new work",
    "NodeNotReady": "its node does not answer",
    "OverCommitted": "its node has fewer working GPUs than are held",
    "ClassChanged": "the offer has changed since",
}


def phase_pill(phase: str) -> Pill:
    """Show a phase; one that this version does not know is unknown."""
    return PHASES.get(Phase(phase), _UNKNOWN) if phase in set(Phase) else _UNKNOWN


def phase_words(record: ClaimRecord) -> str:
    """Say what the phase means for this hold."""
    claim = record.object
    if record.phase == Phase.RELEASING:
        return _releasing(record)
    if record.phase == Phase.IN_USE:
        return f"by VM {record.attached_name}"
    if record.phase == Phase.WAITING:
        bound = condition_of(claim.status.conditions, ConditionType.BOUND)
        refused = bound is not None and bound.status is ConditionStatus.FALSE
        return WAITING_WORDS.get(bound.reason, "it keeps its place") if bound and refused else "being placed"
    attached = condition_of(claim.status.conditions, ConditionType.ATTACHED)
    if attached is not None and attached.reason == AttachedReason.VIRTUAL_MACHINE_OFF:
        return (
            "its VM is off, the GPUs are still yours"
            if record.count > 1
            else "its VM is off, the GPU is still yours"
        )
    return "no VM has used it yet"


def health_words(record: ClaimRecord) -> str:
    """Say what is wrong with a hold that is kept all the same; "" when nothing is."""
    if record.is_healthy is not False:
        return ""
    return _UNHEALTHY.get(record.problem, "something is wrong with its node")


def condition_lines(claim: GPUClaim) -> list[tuple[str, Pill, str]]:
    """Give each condition as its name, its state and a sentence."""
    lines = []
    for condition in claim.status.conditions:
        shown = {
            ConditionStatus.TRUE: Pill("yes", "check", "ok"),
            ConditionStatus.FALSE: Pill(
                "no", "x", "low" if condition.type != ConditionType.ATTACHED else "unknown"
            ),
        }.get(condition.status, _UNKNOWN)
        words = words_of(condition.type, condition.reason) or condition.reason
        lines.append((condition.type, shown, words))
    return lines


def _releasing(record: ClaimRecord) -> str:
    if record.attached_name:
        return f"free when VM {record.attached_name} has stopped"
    waits_for = [name for name in record.object.metadata.finalizers if name]
    return f"waiting for {', '.join(waits_for)}" if waits_for else "free in a moment"
