from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controller.gpunodes import gpu_node_status, is_extended, node_resources
from gpu.corekinds import Node, NodeStatus, ObjectMeta
from gpu.resources import ConditionStatus, Device, GPUNode, GPUNodeStatus, NodeResource

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def a_node(**allocatable: str) -> Node:
    quantities: dict[str, str | int] = {name.replace("__", "/"): value for name, value in allocatable.items()}
    return Node(
        metadata=ObjectMeta(name="n1"), status=NodeStatus(capacity=quantities, allocatable=quantities)
    )


def a_device(name: str, units: int) -> Device:
    return Device(id=name, resource_name="nvidia.com/L40S", model="L40S", allocatable=units, health="Healthy")


@pytest.mark.parametrize(
    ("resource", "want"),
    [
        ("nvidia.com/GH100_H100", True),
        ("amd.com/gpu", True),
        ("cpu", False),
        ("memory", False),
        ("hugepages-2Mi", False),
        ("devices.kubevirt.io/kvm", False),
        ("kubernetes.io/batteries", False),
        ("node.kubernetes.io/batteries", False),
        ("notkubernetes.io/gpu", True),
    ],
)
def test_only_names_with_a_domain_of_their_own_are_devices(resource: str, want: bool) -> None:
    assert is_extended(resource) is want


def test_quantities_are_read_as_kubernetes_writes_them() -> None:
    node = a_node(cpu="64", nvidia__L40S="1k", amd__gpu="8")

    assert node_resources(node) == [
        NodeResource(name="amd/gpu", capacity=8, allocatable=8),
        NodeResource(name="nvidia/L40S", capacity=1000, allocatable=1000),
    ]


def test_one_unreadable_quantity_spoils_that_resource_only() -> None:
    node = a_node(nvidia__L40S="four", amd__gpu="8")

    assert [resource.name for resource in node_resources(node)] == ["amd/gpu"]


def test_a_resource_without_capacity_counts_as_none() -> None:
    node = Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(allocatable={"nvidia.com/L40S": "0"}))

    assert node_resources(node) == [NodeResource(name="nvidia.com/L40S", capacity=0, allocatable=0)]


def test_devices_that_add_up_are_consistent_and_stay_as_they_were_written() -> None:
    devices = [a_device("0000:01:00.0", 2), a_device("0000:02:00.0", 2)]
    gpu_node = GPUNode(metadata=ObjectMeta(name="n1"), status=GPUNodeStatus(devices=devices))

    status = gpu_node_status(
        gpu_node, [NodeResource(name="nvidia.com/L40S", capacity=4, allocatable=4)], now=NOW
    )

    assert status.devices == devices
    assert [(c.type, c.status) for c in status.conditions] == [("Consistent", ConditionStatus.TRUE)]
    assert status.observed_at == NOW


@pytest.mark.parametrize("resources", [[], [NodeResource(name="nvidia.com/L40S", capacity=4, allocatable=3)]])
def test_devices_that_do_not_add_up_are_told_with_both_numbers(resources: list[NodeResource]) -> None:
    devices = [a_device("0000:01:00.0", 4)]
    gpu_node = GPUNode(metadata=ObjectMeta(name="n1"), status=GPUNodeStatus(devices=devices))

    condition = gpu_node_status(gpu_node, resources, now=NOW).conditions[0]

    assert (condition.status, condition.reason) == (ConditionStatus.FALSE, "DevicesDoNotAddUp")
    counted = resources[0].allocatable if resources else 0
    assert condition.message == f"nvidia.com/L40S: the devices add up to 4, kubelet counts {counted}."


def test_without_devices_nothing_is_claimed_about_them() -> None:
    gpu_node = GPUNode(metadata=ObjectMeta(name="n1"))

    condition = gpu_node_status(gpu_node, [], now=NOW).conditions[0]

    assert condition.status is ConditionStatus.UNKNOWN


def test_an_unchanged_node_writes_nothing_however_late_it_is() -> None:
    resources = [NodeResource(name="nvidia.com/L40S", capacity=4, allocatable=4)]
    gpu_node = GPUNode(metadata=ObjectMeta(name="n1"))
    gpu_node.status = gpu_node_status(gpu_node, resources, now=NOW)

    assert gpu_node_status(gpu_node, resources, now=NOW + timedelta(hours=1)) == gpu_node.status
