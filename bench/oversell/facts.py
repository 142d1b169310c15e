"""What the checker reads of each object: plain values out of plain JSON, nothing decoded by the product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Json = Mapping[str, Any]
Key = tuple[str, str]

GROUP: Final = "gpu.cozystack.io/"
TREE: Final = "tenant.cozystack.io/"
_SPELLINGS: Final = (GROUP, "requests." + GROUP, "limits." + GROUP)
_HARD: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class NodeFacts:
    """``is_in_service``: what holds for every class. Taints are those that keep pods off."""

    name: str
    labels: Mapping[str, str]
    is_in_service: bool
    taints: tuple[tuple[str, str, str], ...]
    allocatable: Mapping[str, int]

    @classmethod
    def read(cls, node: Json) -> NodeFacts:
        metadata, spec, status = node["metadata"], node.get("spec", {}), node.get("status", {})
        labels = metadata.get("labels", {})
        ready = [entry for entry in status.get("conditions", ()) if entry["type"] == "Ready"]
        return cls(
            name=metadata["name"],
            labels=labels,
            is_in_service="deletionTimestamp" not in metadata
            and not spec.get("unschedulable", False)
            and labels.get("kubevirt.io/schedulable") == "true"
            and bool(ready)
            and ready[0]["status"] == "True",
            taints=tuple(
                (taint["key"], taint.get("value", ""), taint["effect"])
                for taint in spec.get("taints", ())
                if taint["effect"] in _HARD
            ),
            allocatable={
                name: int(value)
                for name, value in status.get("allocatable", {}).items()
                if "/" in name and str(value).isdigit()
            },
        )


@dataclass(frozen=True)
class ClassFacts:
    name: str
    resource: str
    selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, str], ...]
    max_count: int | None
    moves: bool
    free: int | None = None
    max_free_per_node: int | None = None

    @classmethod
    def read(cls, found: Json) -> ClassFacts:
        spec, status = found["spec"], found.get("status", {})
        return cls(
            name=found["metadata"]["name"],
            resource=spec["source"]["devicePlugin"]["resourceName"],
            selector=spec.get("nodeSelector") or {},
            tolerations=tuple(spec.get("tolerations") or ()),
            max_count=spec.get("maxCount", 1 if spec["mode"] == "vgpu" else None),
            moves=spec.get("onCordon", "Move") == "Move",
            free=status.get("free"),
            max_free_per_node=status.get("maxFreePerNode"),
        )

    def rules(self) -> tuple[object, ...]:
        """Give what decides about orders; equal means that the object changed in words only."""
        return self.resource, dict(self.selector), self.tolerations, self.max_count

    def suits(self, node: NodeFacts) -> bool:
        """Say whether the node would serve the class if it were in service."""
        return (
            self.resource in node.allocatable
            and all(node.labels.get(key) == value for key, value in self.selector.items())
            and all(any(_covers(entry, taint) for entry in self.tolerations) for taint in node.taints)
        )

    def is_served_by(self, node: NodeFacts) -> bool:
        return node.is_in_service and self.suits(node)


def _covers(toleration: Mapping[str, str], taint: tuple[str, str, str]) -> bool:
    key, value, effect = taint
    if toleration.get("effect", effect) != effect:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return toleration.get("key", key) == key
    return toleration.get("key") == key and toleration.get("value", "") == value


@dataclass(frozen=True)
class ClaimFacts:
    key: Key
    uid: str
    class_name: str
    count: int
    set_name: str | None
    node: str | None
    is_releasing: bool

    @classmethod
    def read(cls, claim: Json) -> ClaimFacts:
        metadata, spec = claim["metadata"], claim["spec"]
        return cls(
            key=(metadata["namespace"], metadata["name"]),
            uid=metadata["uid"],
            class_name=spec["className"],
            count=spec["count"],
            set_name=spec.get("setName"),
            node=claim.get("status", {}).get("nodeName"),
            is_releasing="deletionTimestamp" in metadata,
        )


@dataclass(frozen=True)
class QuotaFacts:
    """``limits`` by class name or "total", the three spellings being one; ``used`` as published, by whole key; ``ours``: the keys whose
    use the controller has to publish.
    """

    key: Key
    limits: Mapping[str, int]
    used: Mapping[str, int] = field(default_factory=dict)
    ours: tuple[str, ...] = ()

    @classmethod
    def read(cls, quota: Json) -> QuotaFacts:
        metadata = quota["metadata"]
        limits: dict[str, int] = {}
        for key, value in quota["spec"].get("hard", {}).items():
            subject = subject_of(key)
            if subject:
                limits[subject] = min(int(value), limits.get(subject, int(value)))
        return cls(
            key=(metadata["namespace"], metadata["name"]),
            limits=limits,
            used={
                key: int(value)
                for key, value in quota.get("status", {}).get("used", {}).items()
                if is_ours(key)
            },
            ours=tuple(filter(is_ours, quota["spec"].get("hard", {}))),
        )


def is_ours(key: str) -> bool:
    """Say whether nobody else writes the use of this key: the cluster's own controller does that of "requests."."""
    return subject_of(key) is not None and not key.startswith("requests.")


def subject_of(key: str) -> str | None:
    """Read the class name or "total" out of a quota's key."""
    return next((key.removeprefix(start) for start in _SPELLINGS if key.startswith(start)), None)


def ancestors_of(namespace: Json) -> frozenset[str]:
    metadata = namespace["metadata"]
    labels = metadata.get("labels", {})
    return frozenset(label.removeprefix(TREE) for label in labels if label.startswith(TREE)) - {
        metadata["name"]
    }
