"""Launcher pods that a kubelet refused, and which nodes a set therefore avoids for a while.

A refused pod is never retried where it is, and a VM pinned to that node would fail there for ever. Pending and Unschedulable are
no refusals: that is the scheduler saying "not now".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gpu.corekinds import OwnerReference, Pod
from gpu.resources import CLAIMS_ANNOTATION, RefusedNode

REFUSED_REASONS: Final = frozenset({"UnexpectedAdmissionError", "TopologyAffinityError"})
OUT_OF: Final = "OutOf"  # OutOf<resource>, as OutOfnvidia.com/gpu
MAX_REFUSED_NODES: Final = 256
VM_INSTANCE: Final = "VirtualMachineInstance"


@dataclass(frozen=True)
class Refusal:
    """A kubelet said no to the launcher of these claims."""

    node_name: str
    reason: str
    pod_uid: str
    claims: tuple[tuple[str, str], ...]
    pod_created_at: datetime | None


def owner_of(pod: Pod) -> OwnerReference | None:
    """Give the VM instance that runs in the pod."""
    return next(
        (owner for owner in pod.metadata.owner_references if owner.controller and owner.kind == VM_INSTANCE),
        None,
    )


def refusal_in(pod: Pod) -> Refusal | None:
    """Read a refusal out of a launcher pod."""
    reason = pod.status.reason
    if pod.status.phase != "Failed" or not pod.spec.node_name or owner_of(pod) is None:
        return None
    if reason not in REFUSED_REASONS and not reason.startswith(OUT_OF):
        return None
    names = [name.strip() for name in pod.metadata.annotations.get(CLAIMS_ANNOTATION, "").split(",")]
    claims = tuple((pod.metadata.namespace, name) for name in dict.fromkeys(names) if name)
    if not claims:
        return None
    return Refusal(
        node_name=pod.spec.node_name,
        reason=reason,
        pod_uid=pod.metadata.uid,
        claims=claims,
        pod_created_at=pod.metadata.creation_timestamp,
    )


def with_refusal(refused: Sequence[RefusedNode], new: RefusedNode, *, now: datetime) -> list[RefusedNode]:
    """Add a refusal, drop what has run out, keep the latest when there are too many."""
    others = [entry for entry in refused if entry.node_name != new.node_name and entry.expires_at > now]
    kept = sorted([*others, new], key=lambda entry: (entry.expires_at, entry.node_name))
    return kept[-MAX_REFUSED_NODES:]


def still_refused(refused: Iterable[RefusedNode], now: datetime) -> list[RefusedNode]:
    return [entry for entry in refused if entry.expires_at > now]


class RefusalMemory:
    """Decides until when a refusal counts, the same answer every time it is asked about one pod.

    A failed pod stays in the API for as long as its owner likes. Without this memory its refusal would be recorded again as soon
    as it has run out.
    """

    def __init__(self, *, seconds: float) -> None:
        self._lasts = timedelta(seconds=seconds)
        self._expiries: dict[str, datetime] = {}

    def expires_at(self, refusal: Refusal, *, now: datetime, is_new: bool) -> datetime:
        """``is_new``: the pod was seen to fail just now. Else it had failed before we looked: count from its creation."""
        since = now if is_new or refusal.pod_created_at is None else refusal.pod_created_at
        return self._expiries.setdefault(refusal.pod_uid, since + self._lasts)

    def forget(self, pod_uid: str) -> None:
        self._expiries.pop(pod_uid, None)
