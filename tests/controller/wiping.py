"""Emptying an API server between two tests, where starting another one would take longer than the test."""

from __future__ import annotations

from typing import Any

from kube.kinds import (
    GPU_CLAIMS,
    GPU_CLASSES,
    GPU_NODES,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_QUOTAS,
    WEBHOOKS,
    AnyKind,
)
from tests.kube.servers import RunningServer
from tests.kube.wire import Wire

_KEPT = {"default", "gpu-portal-system"}
_EMPTIED: tuple[AnyKind, ...] = (
    WEBHOOKS,  # first: the controller it names is gone, and it would refuse the rest
    GPU_CLAIMS,
    PODS,
    RESOURCE_QUOTAS,
    GPU_CLASSES,
    NODES,
    GPU_NODES,
    LEASES,
    NAMESPACES,
)


def wipe(server: RunningServer) -> None:
    """Remove all that tests of the controller make. Namespaces end at once: nothing is left in them to wait for."""
    wire = Wire.connect(server.kubeconfig)
    for kind in _EMPTIED:
        for item in wire.page(kind).json["items"]:
            _remove(wire, kind, item["metadata"])


def _remove(wire: Wire, kind: AnyKind, metadata: dict[str, Any]) -> None:
    name, namespace = metadata["name"], metadata.get("namespace", "")
    if kind is NAMESPACES:
        if name in _KEPT or name.startswith("kube-"):
            return
        wire.delete(kind, name)
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name},
            "spec": {"finalizers": []},
        }
        wire.send("PUT", f"{kind.path(name=name)}/finalize", body)
        return
    if namespace.startswith("kube-"):
        return
    if metadata.get("finalizers"):
        wire.patch(kind, name, {"metadata": {"finalizers": None}}, namespace=namespace)
    wire.delete(kind, name, namespace=namespace, gracePeriodSeconds="0")
