"""A small cluster on a running API server, told in the words of the tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from msgspec import Struct

from gpu.conditions import condition_of
from gpu.corekinds import ResourceQuota
from gpu.resources import CLAIMS_ANNOTATION, GPUClaim, GPUClass, GPUNode
from kube.aio import AsyncGateway
from kube.kinds import (
    GPU_CLAIMS,
    GPU_CLASSES,
    GPU_NODES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_QUOTAS,
    AnyKind,
    Kind,
)
from kube.watching import EventType, watch

T = TypeVar("T", bound=Struct)

TENANT = "tenant-acme"
H100 = "nvidia.com/GH100_H100"
WAIT_SECONDS = 15.0


class Cluster:
    """Nodes, offers, orders and launcher pods, and waiting for what becomes of them."""

    def __init__(self, gateway: AsyncGateway) -> None:
        self.gateway = gateway

    async def add_tenant(self, name: str = TENANT, *ancestors: str) -> None:
        labels = {f"tenant.cozystack.io/{ancestor}": "" for ancestor in (*ancestors, name)}
        await self.gateway.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})

    async def add_node(
        self, name: str, units: int = 8, *, resource: str = H100, labels: dict[str, str] | None = None
    ) -> None:
        all_labels = {"kubevirt.io/schedulable": "true", "kubernetes.io/hostname": name, **(labels or {})}
        await self.gateway.create(NODES, {"metadata": {"name": name, "labels": all_labels}})
        quantities = {"cpu": "64", resource: str(units)}
        await self.set_node_status(
            name, capacity=quantities, allocatable=quantities, conditions=ready("True")
        )

    async def set_node_status(self, name: str, **status: Any) -> None:
        await self.gateway.patch(NODES, name, {"status": status}, subresource="status")

    async def resize(self, **units: int) -> None:
        """Make the nodes have this many units, each, and add those that are not there."""
        known = {item.object.metadata.name for item in (await self.gateway.list_all(NODES)).items}
        for name, count in units.items():
            if name in known:
                await self.set_node_status(name, allocatable={H100: str(count)})
            else:
                await self.add_node(name, count)

    async def cordon(self, name: str, *, unschedulable: bool = True) -> None:
        await self.gateway.patch(NODES, name, {"spec": {"unschedulable": unschedulable}})

    async def taint(self, name: str, *taints: dict[str, str]) -> None:
        await self.gateway.patch(NODES, name, {"spec": {"taints": list(taints)}})

    async def remove_node(self, name: str) -> None:
        await self.gateway.delete(NODES, name)

    async def add_class(self, name: str = "h100", *, resource: str = H100, **spec: Any) -> None:
        body = {
            "vendor": "NVIDIA",
            "model": name.upper(),
            "mode": "passthrough",
            "source": {"devicePlugin": {"resourceName": resource}},
            **spec,
        }
        await self.gateway.create(GPU_CLASSES, {"metadata": {"name": name}, "spec": body})

    async def add_budget(
        self, hard: Mapping[str, int], *, name: str = "gpus", namespace: str = TENANT
    ) -> None:
        keys = {key: str(value) for key, value in hard.items()}
        await self.gateway.create(
            RESOURCE_QUOTAS, {"metadata": {"name": name}, "spec": {"hard": keys}}, namespace=namespace
        )

    async def set_budget(
        self, hard: Mapping[str, int | None], *, name: str = "gpus", namespace: str = TENANT
    ) -> None:
        """Change keys of a budget; None takes one out."""
        keys = {key: None if value is None else str(value) for key, value in hard.items()}
        await self.gateway.patch(RESOURCE_QUOTAS, name, {"spec": {"hard": keys}}, namespace=namespace)

    async def remove_budget(self, name: str = "gpus", *, namespace: str = TENANT) -> None:
        await self.gateway.delete(RESOURCE_QUOTAS, name, namespace=namespace)

    async def order(
        self,
        name: str,
        count: int = 1,
        *,
        class_name: str = "h100",
        set_name: str | None = None,
        namespace: str = TENANT,
        dry_run: bool = False,
    ) -> GPUClaim:
        spec: dict[str, Any] = {"className": class_name, "count": count}
        if set_name:
            spec["setName"] = set_name
        body = {"metadata": {"name": name}, "spec": spec}
        return (await self.gateway.create(GPU_CLAIMS, body, namespace=namespace, dry_run=dry_run)).object

    async def release(self, name: str, *, namespace: str = TENANT) -> None:
        await self.gateway.delete(GPU_CLAIMS, name, namespace=namespace)

    async def start_vm(self, vm: str, *claims: str, node: str, units: int = 1, resource: str = H100) -> str:
        """Start the launcher pod of a VM; give its name."""
        name = f"virt-launcher-{vm}"
        owner = {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "name": vm,
            "uid": f"uid-of-{vm}",
        }
        quantities = {resource: str(units)}
        body = {
            "metadata": {
                "name": name,
                "annotations": {CLAIMS_ANNOTATION: ",".join(claims)},
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 0,  # there is no kubelet that would end it
                "containers": [
                    {
                        "name": "compute",
                        "image": "launcher",
                        "resources": {"requests": quantities, "limits": quantities},
                    }
                ],
            },
        }
        await self.gateway.create(PODS, body, namespace=TENANT)
        await self.set_pod_status(name, phase="Running")
        return name

    async def set_pod_status(self, name: str, **status: Any) -> None:
        await self.gateway.patch(PODS, name, {"status": status}, namespace=TENANT, subresource="status")

    async def remove_pod(self, name: str) -> None:
        await self.gateway.delete(PODS, name, namespace=TENANT)

    async def claim(self, name: str) -> GPUClaim:
        return (await self.gateway.get(GPU_CLAIMS, name, namespace=TENANT)).object

    async def claims(self) -> dict[str, GPUClaim]:
        return {
            item.object.metadata.name: item.object for item in (await self.gateway.list_all(GPU_CLAIMS)).items
        }

    async def until_claim(self, name: str, holds: Callable[[GPUClaim], object]) -> GPUClaim:
        return await self.until(GPU_CLAIMS, name, holds, namespace=TENANT)

    async def until_bound(self, name: str) -> GPUClaim:
        return await self.until_claim(name, lambda claim: claim.status.node_name)

    async def until_class(self, name: str, holds: Callable[[GPUClass], object]) -> GPUClass:
        return await self.until(GPU_CLASSES, name, holds)

    async def until_free(self, free: int, *, class_name: str = "h100") -> GPUClass:
        return await self.until_class(class_name, lambda found: found.status.free == free)

    async def until_gpu_node(self, name: str, holds: Callable[[GPUNode], object]) -> GPUNode:
        return await self.until(GPU_NODES, name, holds)

    async def until_quota(
        self, holds: Callable[[ResourceQuota], object], *, namespace: str = TENANT
    ) -> ResourceQuota:
        return await self.until(RESOURCE_QUOTAS, "gpus", holds, namespace=namespace)

    async def until(
        self, kind: Kind[T], name: str, holds: Callable[[T], object], *, namespace: str | None = None
    ) -> T:
        """Watch one object until it is as wanted."""
        last: T | None = None
        try:
            async with (
                asyncio.timeout(WAIT_SECONDS),
                aclosing(watch(self.gateway, kind, namespace=namespace)) as events,
            ):
                async for event in events:
                    if event.name != name or event.object is None or event.type is EventType.DELETED:
                        continue
                    last = event.object
                    if holds(last):
                        return last
        except TimeoutError:
            raise AssertionError(f"{kind.name} {name} never became as wanted; last seen: {last}") from None
        raise AssertionError("the watch ended")

    async def until_gone(self, kind: AnyKind, name: str, *, namespace: str | None = None) -> None:
        """Watch until there is no such object."""
        is_there = True
        async with (
            asyncio.timeout(WAIT_SECONDS),
            aclosing(watch(self.gateway, kind, namespace=namespace)) as events,
        ):
            is_there = False
            async for event in events:
                if event.name == name:
                    is_there = event.type is not EventType.DELETED
                if event.type in (EventType.LISTED, EventType.DELETED) and not is_there:
                    return


def ready(status: str) -> list[dict[str, str]]:
    return [{"type": "Ready", "status": status}]


def reason_of(claim: GPUClaim, type_: str) -> str:
    """Give "status reason" of a condition."""
    condition = condition_of(claim.status.conditions, type_)
    return f"{condition.status} {condition.reason}" if condition else ""
