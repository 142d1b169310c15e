"""The three kinds of gpu.cozystack.io/v1alpha1: shapes, defaults and ranges of every field.

The one home of these facts in Python; ``tests/gpu/test_crds.py`` compares them field by field with ``deploy/crds``. Patterns are
written as in the CRD (RE2, ``$`` is the end of the text); use :func:`matches` to test one, as Python's ``$`` also accepts a
trailing newline.

Absent optional fields are ``None`` or empty and are left out again when encoded.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field

from gpu.corekinds import ObjectMeta

GROUP: Final = "gpu.cozystack.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KEEP_ANNOTATION: Final = {"helm.sh/resource-policy": "keep"}
CLAIMS_ANNOTATION: Final = f"{GROUP}/claims"
"""On a VM's template (KubeVirt copies it to the launcher pod): comma-separated names of the claims it runs with."""
RELEASE_FINALIZER: Final = f"{GROUP}/held-while-attached"
"""Keeps a deleted claim's units until the pod of its VM is gone."""

INT32_MAX: Final = 2**31 - 1
DNS_LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
QUANTITY: Final = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
RESOURCE_NAME: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
TOLERATION_KEY: Final = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
TOLERATION_VALUE: Final = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
CONDITION_REASON: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
CONDITION_TYPE: Final = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern)


def matches(pattern: str, text: str) -> bool:
    """Say whether the API server's regular expression would accept the text."""
    return _compiled(pattern).search(text) is not None


class Mode(StrEnum):
    """How a VM gets the GPU: the whole device, or a vGPU of a profile."""

    PASSTHROUGH = "passthrough"
    VGPU = "vgpu"


class OnCordon(StrEnum):
    """Whether an unattached claim leaves a cordoned node."""

    MOVE = "Move"
    STAY = "Stay"


class Operator(StrEnum):
    EXISTS = "Exists"
    EQUAL = "Equal"


class Effect(StrEnum):
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True, frozen=True):
    """metav1.Condition. Set it through :mod:`gpu.conditions`."""

    type: Annotated[str, Meta(max_length=316, pattern=CONDITION_TYPE)]
    status: ConditionStatus
    reason: Annotated[str, Meta(min_length=1, max_length=1024, pattern=CONDITION_REASON)]
    message: Annotated[str, Meta(max_length=32768)]
    last_transition_time: datetime
    observed_generation: Annotated[int, Meta(ge=0)] | None = None


class Toleration(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True, frozen=True):
    """A class's toleration. Absent operator is Equal, absent effect is every effect, absent value is the empty value."""

    key: Annotated[str, Meta(max_length=317, pattern=TOLERATION_KEY)] | None = None
    operator: Operator | None = None
    value: Annotated[str, Meta(max_length=63, pattern=TOLERATION_VALUE)] | None = None
    effect: Effect | None = None
    toleration_seconds: int | None = None


class DevicePluginSource(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True, frozen=True):
    resource_name: Annotated[str, Meta(min_length=3, max_length=317, pattern=RESOURCE_NAME)]


class GPUClassSource(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True, frozen=True):
    """The backend that serves a class; exactly one member is set. ``dra`` is reserved."""

    device_plugin: DevicePluginSource | None = None


class GPUClassSpec(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    """One offer. ``max_count`` unset is resolved by :func:`gpu.fit.effective_max_count` and nowhere else."""

    vendor: Annotated[str, Meta(min_length=1, max_length=63)]
    model: Annotated[str, Meta(min_length=1, max_length=63)]
    mode: Mode
    source: GPUClassSource
    display_name: Annotated[str, Meta(max_length=256)] | None = None
    profile: Annotated[str, Meta(min_length=1, max_length=63)] | None = None
    memory: Annotated[str, Meta(pattern=QUANTITY)] | int | None = None
    max_count: Annotated[int, Meta(ge=1, le=INT32_MAX)] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: Annotated[list[Toleration], Meta(max_length=32)] | None = None
    on_cordon: OnCordon = OnCordon.MOVE


class GPUClassStatus(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    """``free`` and ``max_free_per_node`` are units; ``None`` is unknown, which is never 0."""

    free: int | None = None
    max_free_per_node: int | None = None
    conditions: list[Condition] = field(default_factory=list)


class GPUClass(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    metadata: ObjectMeta
    spec: GPUClassSpec
    status: GPUClassStatus = field(default_factory=GPUClassStatus)

    @property
    def resource_name(self) -> str:
        """The extended resource that serves the class, or "" for a source this version does not know."""
        return self.spec.source.device_plugin.resource_name if self.spec.source.device_plugin else ""

    @property
    def title(self) -> str:
        """What a person calls the offer."""
        return self.spec.display_name or self.metadata.name


class GPUClaimSpec(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True, frozen=True):
    """Immutable as a whole. All units of one claim are on one node; claims of one namespace and set share a node."""

    class_name: Annotated[str, Meta(max_length=63, pattern=DNS_LABEL)]
    count: Annotated[int, Meta(ge=1, le=INT32_MAX)] = 1
    set_name: Annotated[str, Meta(max_length=63, pattern=DNS_LABEL)] | None = None


class AttachedTo(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True, frozen=True):
    """The VM instance that runs with the claim."""

    kind: str
    name: str
    uid: str


class RefusedNode(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True, frozen=True):
    """A node whose kubelet refused the set's launcher; it is not tried again before ``expires_at``."""

    node_name: str
    reason: str
    expires_at: datetime


class GPUClaimStatus(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    node_name: Annotated[str, Meta(max_length=253)] | None = None
    bound_at: datetime | None = None
    attached_to: AttachedTo | None = None
    refused_nodes: Annotated[list[RefusedNode], Meta(max_length=256)] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    observed_generation: int | None = None


class GPUClaim(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    metadata: ObjectMeta
    spec: GPUClaimSpec
    status: GPUClaimStatus = field(default_factory=GPUClaimStatus)

    @property
    def is_releasing(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class Device(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True, frozen=True):
    """One physical device. ``allocatable``: how many device-plugin devices kubelet counts as allocatable for it."""

    id: str
    resource_name: str
    model: str
    allocatable: Annotated[int, Meta(ge=0, le=INT32_MAX)]
    health: str
    profile: str | None = None


class NodeResource(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True, frozen=True):
    """One extended resource of a node, in units."""

    name: str
    capacity: Annotated[int, Meta(ge=0)]
    allocatable: Annotated[int, Meta(ge=0)]


class GPUNodeStatus(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    devices: list[Device] = field(default_factory=list)
    resources: list[NodeResource] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    observed_at: datetime | None = None


class GPUNode(Struct, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    metadata: ObjectMeta
    status: GPUNodeStatus = field(default_factory=GPUNodeStatus)


def to_json(value: Struct) -> dict[str, Any]:
    """Give the object as plain JSON data, absent fields left out."""
    data: dict[str, Any] = msgspec.to_builtins(value)
    return data
