"""Kubernetes' own objects, as far as the model reads them.

Decoding ignores every field not named here. Absent is ``None`` or empty; nothing here validates: these objects come from an API
server that already did.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field


class OwnerReference(Struct, gc=False, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """Who owns an object; ``controller`` marks the one that manages it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    """metadata of any object. Times are RFC 3339 with a zone."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    finalizers: list[str] = field(default_factory=list)
    owner_references: list[OwnerReference] = field(default_factory=list)


class Taint(Struct, gc=False, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """A node's taint. ``str(taint)`` writes it as kubectl does: ``key[=value]:Effect``."""

    key: str
    effect: str = ""
    value: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class NodeCondition(Struct, gc=False, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class NodeSpec(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    unschedulable: bool = False
    taints: list[Taint] | None = None


class NodeStatus(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    """Quantities stay as written: one unreadable value must spoil that value only."""

    capacity: dict[str, str | int] = field(default_factory=dict)
    allocatable: dict[str, str | int] = field(default_factory=dict)
    conditions: list[NodeCondition] | None = None


class Node(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    metadata: ObjectMeta
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


class ContainerResources(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    requests: dict[str, str | int] = field(default_factory=dict)
    limits: dict[str, str | int] = field(default_factory=dict)


class Container(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    name: str = ""
    resources: ContainerResources = field(default_factory=ContainerResources)
    restart_policy: str = ""  # "Always" on an init container makes it a sidecar


class PodSpec(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    node_name: str = ""
    containers: list[Container] = field(default_factory=list)
    init_containers: list[Container] = field(default_factory=list)
    overhead: dict[str, str | int] = field(default_factory=dict)


class PodStatus(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    phase: str = ""
    reason: str = ""
    message: str = ""


class Pod(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    metadata: ObjectMeta
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class Namespace(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    metadata: ObjectMeta


class ResourceQuotaSpec(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    hard: dict[str, str | int] = field(default_factory=dict)
    scopes: list[str] = field(default_factory=list)
    scope_selector: dict[str, Any] | None = None


class ResourceQuotaStatus(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    hard: dict[str, str | int] = field(default_factory=dict)
    used: dict[str, str | int] = field(default_factory=dict)


class ResourceQuota(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    metadata: ObjectMeta
    spec: ResourceQuotaSpec = field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = field(default_factory=ResourceQuotaStatus)


class LeaseSpec(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    lease_transitions: int = 0


class Lease(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    metadata: ObjectMeta
    spec: LeaseSpec = field(default_factory=LeaseSpec)
