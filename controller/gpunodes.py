"""GPUNode beside each Node that has extended resources: how many units kubelet counts, whether the devices add up to them.

``status.devices`` belongs to a node agent, if there is one; nothing here touches it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from controller.fenced import FencedGateway
from controller.patches import difference
from controller.world import World
from controller.writes import Writes
from gpu.conditions import ConditionType, ConsistentReason, set_condition
from gpu.corekinds import Node
from gpu.quantities import parse_units
from gpu.resources import ConditionStatus, Device, GPUNode, GPUNodeStatus, NodeResource
from kube.errors import AlreadyExists, Conflict, NotFound
from kube.kinds import GPU_NODES

KUBEVIRT_DEVICES: Final = "devices.kubevirt.io"  # kvm, tun, vhost-net: plumbing of every VM


def is_extended(resource: str) -> bool:
    """Say whether a node's resource may be a device plugin's: a name with a domain that is not Kubernetes' own."""
    domain, slash, _ = resource.partition("/")
    is_kubernetes = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    return bool(slash) and not is_kubernetes and domain != KUBEVIRT_DEVICES


def node_resources(node: Node) -> list[NodeResource]:
    """Give the node's extended resources by name. One whose quantity cannot be read is left out, alone."""
    resources = []
    for name in sorted(filter(is_extended, {*node.status.capacity, *node.status.allocatable})):
        capacity = parse_units(node.status.capacity.get(name, 0))
        allocatable = parse_units(node.status.allocatable.get(name, 0))
        if capacity is not None and allocatable is not None:
            resources.append(NodeResource(name=name, capacity=capacity, allocatable=allocatable))
    return resources


def gpu_node_status(gpu_node: GPUNode, resources: list[NodeResource], *, now: datetime) -> GPUNodeStatus:
    """Compute the status; equal to the object's own when there is nothing to write. ``observedAt`` moves with the rest."""
    old = gpu_node.status
    conditions, is_changed = set_condition(
        old.conditions,
        type=ConditionType.CONSISTENT.value,
        now=now,
        generation=gpu_node.metadata.generation or None,
        **_consistency(old.devices, resources),
    )
    if not is_changed and resources == old.resources:
        return old
    return GPUNodeStatus(devices=old.devices, resources=resources, conditions=conditions, observed_at=now)


def _consistency(devices: Sequence[Device], resources: Sequence[NodeResource]) -> dict[str, Any]:
    """Compare the units of the devices with kubelet's, for each resource that has devices."""
    if not devices:
        return {
            "status": ConditionStatus.UNKNOWN,
            "reason": ConsistentReason.NO_DEVICES_PUBLISHED.value,
            "message": "No node agent publishes devices here.",
        }
    counted = {resource.name: resource.allocatable for resource in resources}
    listed: Counter[str] = Counter()
    for device in devices:
        listed[device.resource_name] += device.allocatable
    wrong = [
        f"{name}: the devices add up to {units}, kubelet counts {counted.get(name, 0)}"
        for name, units in sorted(listed.items())
        if units != counted.get(name, 0)
    ]
    if wrong:
        return {
            "status": ConditionStatus.FALSE,
            "reason": ConsistentReason.DEVICES_DO_NOT_ADD_UP.value,
            "message": "; ".join(wrong) + ".",
        }
    return {
        "status": ConditionStatus.TRUE,
        "reason": ConsistentReason.DEVICES_ADD_UP.value,
        "message": "The devices add up to what kubelet counts.",
    }


class GPUNodePublisher:
    """Keeps each GPUNode as its Node says. Called by name, one name at a time."""

    def __init__(
        self, gateway: FencedGateway, writes: Writes, world: World, *, now: Callable[[], datetime]
    ) -> None:
        self._gateway = gateway
        self._writes = writes
        self._world = world
        self._now = now

    async def look(self, name: str) -> None:
        """Create, update or delete one GPUNode so that it agrees with its Node."""
        node, gpu_node = self._world.nodes.get(name), self._world.gpu_nodes.get(name)
        if node is None:
            if gpu_node is not None:
                await self._delete(gpu_node)
            return
        resources = node_resources(node)
        if gpu_node is None:
            if not resources:
                return
            gpu_node = await self._create(node)
        await self._update(gpu_node, resources)

    async def _create(self, node: Node) -> GPUNode:
        name = node.metadata.name
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid}
        body = {"metadata": {"name": name, "ownerReferences": [owner]}}
        try:
            return (await self._gateway.create(GPU_NODES, body)).object
        except AlreadyExists:
            return (await self._gateway.get(GPU_NODES, name)).object

    async def _update(self, gpu_node: GPUNode, resources: list[NodeResource]) -> None:
        change = difference(gpu_node.status, gpu_node_status(gpu_node, resources, now=self._now()))
        if change:
            await self._writes.status_members(GPU_NODES, gpu_node.metadata, change)

    async def _delete(self, gpu_node: GPUNode) -> None:
        try:
            await self._gateway.delete(GPU_NODES, gpu_node.metadata.name, uid=gpu_node.metadata.uid)
        except (NotFound, Conflict):
            return  # gone already, or another object of that name, whose own event comes
