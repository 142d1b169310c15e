"""Which nodes serve a class, and why another one does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from gpu.corekinds import Node, Taint
from gpu.quantities import parse_units
from gpu.resources import Effect, GPUClass, Operator, Toleration

SCHEDULABLE_LABEL: Final = "kubevirt.io/schedulable"
"""KubeVirt sets it to "true" while its node agent answers."""

_HARD_EFFECTS: Final = frozenset({Effect.NO_SCHEDULE.value, Effect.NO_EXECUTE.value})


class NodeReason(StrEnum):
    """Why a node does not serve a class, the most basic first.

    The selector, the resource and the taints are between the class and the node; the others hold for every class.
    """

    SELECTOR_MISMATCH = "SelectorMismatch"
    RESOURCE_NOT_ADVERTISED = "ResourceNotAdvertised"
    NODE_DELETING = "NodeDeleting"
    NODE_NOT_READY = "NodeNotReady"
    NODE_CORDONED = "NodeCordoned"
    NOT_SCHEDULABLE = "NotSchedulable"
    TAINT_NOT_TOLERATED = "TaintNotTolerated"


class Obstacle(Struct, frozen=True):
    """One reason with what it is about: the taint, the label pair or the resource."""

    reason: NodeReason
    detail: str = ""


class Eligibility(Struct, frozen=True):
    """Whether the node serves the class. ``obstacles`` names every reason against it, most basic first."""

    obstacles: tuple[Obstacle, ...] = ()

    @property
    def serves(self) -> bool:
        return not self.obstacles

    @property
    def reasons(self) -> tuple[NodeReason, ...]:
        return tuple(obstacle.reason for obstacle in self.obstacles)


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Say whether one of the tolerations covers the taint, by Kubernetes' rules. tolerationSeconds plays no part."""
    return any(_covers(toleration, taint) for toleration in tolerations)


def matches_selector(selector: Mapping[str, str] | None, labels: Mapping[str, str]) -> bool:
    """Say whether every pair equals the label. No selector matches every node; a missing label is not an empty one."""
    return not selector or all(labels.get(key) == value for key, value in selector.items())


def is_ready(node: Node) -> bool:
    """Say whether the node's Ready condition is True; missing and Unknown are not."""
    for condition in node.status.conditions or ():
        if condition.type == "Ready":
            return condition.status == "True"
    return False


def blocking_taints(tolerations: Iterable[Toleration], node: Node) -> tuple[Taint, ...]:
    """Give the node's NoSchedule and NoExecute taints that nothing tolerates."""
    if not node.spec.taints:
        return ()
    known = tuple(tolerations)
    return tuple(
        taint for taint in node.spec.taints if taint.effect in _HARD_EFFECTS and not tolerates(known, taint)
    )


def node_obstacles(node: Node, *, require_schedulable_label: bool = True) -> tuple[Obstacle, ...]:
    """Give what keeps the node out of service for every class, whatever the class tolerates."""
    found: list[Obstacle] = []
    if node.metadata.deletion_timestamp is not None:
        found.append(Obstacle(NodeReason.NODE_DELETING))
    if not is_ready(node):
        found.append(Obstacle(NodeReason.NODE_NOT_READY))
    if node.spec.unschedulable:
        found.append(Obstacle(NodeReason.NODE_CORDONED))
    if require_schedulable_label and node.metadata.labels.get(SCHEDULABLE_LABEL) != "true":
        found.append(Obstacle(NodeReason.NOT_SCHEDULABLE, SCHEDULABLE_LABEL))
    return tuple(found)


def class_obstacles(gpu_class: GPUClass, node: Node) -> tuple[Obstacle, ...]:
    """Give what keeps this class off the node, leaving out what holds for every class."""
    spec = gpu_class.spec
    found: list[Obstacle] = []
    labels = node.metadata.labels
    if not matches_selector(spec.node_selector, labels):
        wrong = next(f"{k}={v}" for k, v in (spec.node_selector or {}).items() if labels.get(k) != v)
        found.append(Obstacle(NodeReason.SELECTOR_MISMATCH, wrong))
    resource = gpu_class.resource_name
    advertised = node.status.allocatable.get(resource)
    if advertised is None or parse_units(advertised) is None:
        found.append(Obstacle(NodeReason.RESOURCE_NOT_ADVERTISED, resource))
    found.extend(
        Obstacle(NodeReason.TAINT_NOT_TOLERATED, str(taint))
        for taint in blocking_taints(spec.tolerations or (), node)
    )
    return tuple(found)


def serves(gpu_class: GPUClass, node: Node, *, require_schedulable_label: bool = True) -> Eligibility:
    """Say whether the node serves the class, with every reason against it, the most basic first."""
    found = class_obstacles(gpu_class, node) + node_obstacles(
        node, require_schedulable_label=require_schedulable_label
    )
    return Eligibility(tuple(sorted(found, key=lambda obstacle: _ORDER[obstacle.reason])))


_ORDER: Final = {reason: place for place, reason in enumerate(NodeReason)}


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator is Operator.EXISTS:
        return True
    # An empty key tolerates every key only with Exists; the CRD refuses the rest, an object from elsewhere covers nothing.
    return bool(toleration.key) and (toleration.value or "") == taint.value
