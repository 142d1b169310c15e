"""The kinds this project reads or writes, with their place on the wire and the model that decodes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from msgspec import Struct

from gpu import corekinds as core
from gpu import resources as gpu

T = TypeVar("T", bound=Struct)


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind: where it is served and what it decodes to. ``group`` is "" for the core group."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool
    model: type[T]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, *, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """Give the URL path of the collection or object. Without a namespace: the collection of all namespaces."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name is not None:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


class Opaque(Struct, kw_only=True):
    """Any object of which only the metadata matters here."""

    metadata: core.ObjectMeta


def metadata_of(decoded: Struct) -> core.ObjectMeta:
    """Give the metadata that every model of a kind has."""
    metadata: core.ObjectMeta = cast(Any, decoded).metadata
    return metadata


GPU_CLASSES: Final = Kind(gpu.GROUP, gpu.VERSION, "gpuclasses", "GPUClass", False, gpu.GPUClass)
GPU_CLAIMS: Final = Kind(gpu.GROUP, gpu.VERSION, "gpuclaims", "GPUClaim", True, gpu.GPUClaim)
GPU_NODES: Final = Kind(gpu.GROUP, gpu.VERSION, "gpunodes", "GPUNode", False, gpu.GPUNode)
NODES: Final = Kind("", "v1", "nodes", "Node", False, core.Node)
PODS: Final = Kind("", "v1", "pods", "Pod", True, core.Pod)
NAMESPACES: Final = Kind("", "v1", "namespaces", "Namespace", False, core.Namespace)
RESOURCE_QUOTAS: Final = Kind("", "v1", "resourcequotas", "ResourceQuota", True, core.ResourceQuota)
LEASES: Final = Kind("coordination.k8s.io", "v1", "leases", "Lease", True, core.Lease)
WEBHOOKS: Final = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    False,
    Opaque,
)
CRDS: Final = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False, Opaque
)

AnyKind = Kind[Any]
