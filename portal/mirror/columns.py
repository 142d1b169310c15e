"""From an object to the columns of its record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from gpu import corekinds as core
from gpu import resources as gpu
from gpu.conditions import ConditionType, condition_of, phase
from gpu.fit import effective_max_count
from gpu.quantities import parse_bytes
from gpu.resources import Condition, ConditionStatus
from gpu.tenants import ANCESTOR_LABEL_PREFIX
from kube.answers import decoder_of
from kube.kinds import AnyKind

Columns = dict[str, Any]

_INT64_MAX: Final = 2**63 - 1
_TENANT_PREFIX: Final = "tenant-"
_DRIVER_SIDE: Final = "devices.kubevirt.io/"
"""KubeVirt's own devices (kvm, tun, vhost-net): every VM asks for them, and they are no GPUs."""


def columns_of(kind: AnyKind, obj: Any, raw: bytes, *, at: datetime) -> Columns:
    """Give every column of the record but its key."""
    meta: core.ObjectMeta = obj.metadata
    return {
        "uid": meta.uid,
        "resource_version": meta.resource_version,
        "version": version_of(meta.resource_version),
        "created_at": meta.creation_timestamp,
        "deleting_since": meta.deletion_timestamp,
        "mirrored_at": at,
        "body": raw,
        **_OWN[kind.plural](obj),
    }


def key_of(kind: AnyKind, namespace: str | None, name: str) -> dict[str, str]:
    return {"namespace": namespace or "", "name": name} if kind.namespaced else {"name": name}


def decode(kind: AnyKind, raw: bytes) -> Any:
    """Read the object. Raise msgspec.DecodeError for bytes that are no such object."""
    return decoder_of(kind.model).decode(raw)  # type: ignore[arg-type]  # mypy takes type[Any] for not hashable


def version_of(resource_version: str) -> int:
    """Give the number that orders states of one object; 0 where the server does not count."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdigit() else 0


def matters(kind: AnyKind, obj: Any) -> bool:
    """Say whether the object has a place in the mirror: of pods, only those that ask for devices."""
    if not isinstance(obj, core.Pod):
        return True
    containers = (*obj.spec.containers, *obj.spec.init_containers)
    asked = {name for container in containers for name in container.resources.requests}
    asked |= {name for container in containers for name in container.resources.limits}
    return any(_is_device(name) for name in asked)


def _is_device(resource: str) -> bool:
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io") and not resource.startswith(_DRIVER_SIDE)


def _class(obj: gpu.GPUClass) -> Columns:
    spec, status = obj.spec, obj.status
    served = condition_of(status.conditions, ConditionType.SERVED)
    return {
        "display_name": _text(spec.display_name),
        "vendor": _text(spec.vendor),
        "model": _text(spec.model),
        "mode": spec.mode.value,
        "profile": _text(spec.profile),
        "memory_bytes": _memory(spec.memory),
        "resource_name": _text(obj.resource_name),
        "max_count": effective_max_count(spec),
        "free": _count(status.free),
        "max_free_per_node": _count(status.max_free_per_node),
        "is_served": _truth(served),
    }


def _claim(obj: gpu.GPUClaim) -> Columns:
    healthy = condition_of(obj.status.conditions, ConditionType.HEALTHY)
    bound = condition_of(obj.status.conditions, ConditionType.BOUND)
    unwell = [c for c in (bound, healthy) if c is not None and c.status == ConditionStatus.FALSE]
    return {
        "class_name": obj.spec.class_name,
        "count": obj.spec.count,
        "set_name": _text(obj.spec.set_name),
        "node_name": _text(obj.status.node_name),
        "bound_at": obj.status.bound_at,
        "phase": phase(obj).value,
        "attached_name": _text(obj.status.attached_to.name)[:253] if obj.status.attached_to else "",
        "is_healthy": _truth(healthy),
        "problem": _text(unwell[0].reason)[:64] if unwell else "",
    }


def _node(obj: core.Node) -> Columns:
    ready = next((c.status for c in obj.status.conditions or () if c.type == "Ready"), "")
    return {
        "ready": ready == "True",
        "cordoned": obj.spec.unschedulable,
        "taints": "\n".join(str(taint) for taint in obj.spec.taints or ()),
        "labels": obj.metadata.labels,
    }


def _gpu_node(obj: gpu.GPUNode) -> Columns:
    devices = obj.status.devices
    return {
        "device_count": len(devices),
        "sick_count": sum(device.health.lower() != "healthy" for device in devices),
        "is_consistent": _truth(condition_of(obj.status.conditions, ConditionType.CONSISTENT)),
        "observed_at": obj.status.observed_at,
    }


def _quota(obj: core.ResourceQuota) -> Columns:
    return {"hard": {key: str(value) for key, value in obj.spec.hard.items()}}


def _namespace(obj: core.Namespace) -> Columns:
    name = obj.metadata.name
    named = {
        label.removeprefix(ANCESTOR_LABEL_PREFIX)
        for label in obj.metadata.labels
        if label.startswith(ANCESTOR_LABEL_PREFIX)
    }
    ancestors = sorted(named - {name, ""})
    return {
        "is_tenant": bool(named) or name.startswith(_TENANT_PREFIX),
        "parent": _nearest(ancestors),
        "ancestors": ancestors,
    }


def _nearest(ancestors: list[str]) -> str:
    """Choose the deepest: a tenant's name starts with its parent's, and only the root's does not."""
    return max(ancestors, key=lambda name: (name != "tenant-root", name.count("-"), name), default="")[:63]


def _pod(obj: core.Pod) -> Columns:
    return {"node_name": _text(obj.spec.node_name), "phase": _text(obj.status.phase)[:16]}


_OWN: Final[dict[str, Callable[[Any], Columns]]] = {
    "gpuclasses": _class,
    "gpuclaims": _claim,
    "gpunodes": _gpu_node,
    "nodes": _node,
    "resourcequotas": _quota,
    "namespaces": _namespace,
    "pods": _pod,
}


def _text(value: str | None) -> str:
    """Give text that every database can store: PostgreSQL refuses NUL, and lone surrogates are no text at all."""
    if not value:
        return ""
    return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _count(value: int | None) -> int | None:
    return None if value is None else max(-_INT64_MAX, min(value, _INT64_MAX))


def _memory(value: str | int | None) -> int | None:
    size = None if value is None else parse_bytes(value)
    return int(size) if size is not None and 0 <= size <= _INT64_MAX else None


def _truth(condition: Condition | None) -> bool | None:
    if condition is None or condition.status == ConditionStatus.UNKNOWN:
        return None
    return condition.status == ConditionStatus.TRUE
