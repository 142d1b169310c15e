"""What the controller's picture of a large cluster weighs, and how long it takes to draw.

    python -m bench.controller_memory [--nodes 10000] [--claims 100000] [--pods 50000]

Feeds a World with objects decoded from JSON in lots of 500, as a list brings them, and says how the process has grown after each
kind. The JSON carries what real objects carry: managed fields, labels, annotations, conditions. No server and no network: their
buffers are those of one page.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec
import psutil
from msgspec import Struct

from controller import process as _controller  # noqa: F401  # weighs what the process weighs before it sees anything
from controller.memory import settle_picture
from controller.world import World
from gpu.ledger import Ledger
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
from kube.watching import Event, EventType

T = TypeVar("T", bound=Struct)
CLASSES, TENANTS, PER_NODE, PAGE = 20, 1000, 16, 500
AT = "2026-11-05T12:00:00Z"


def moment(number: int) -> str:
    """A time of its own for every claim."""
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=7 * number)).strftime("%Y-%m-%dT%H:%M:%SZ")


def metadata(name: str, number: int, *, namespace: str = "", **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {}}, "f:spec": {}, "f:status": {"f:conditions": {}}}
    return {
        "name": name,
        "namespace": namespace,
        "uid": f"3f2b8c1a-7d54-4e0f-9a66-{number:012}",
        "resourceVersion": str(1_000_000 + number),
        "generation": 1,
        "creationTimestamp": moment(number),
        "managedFields": [{"manager": "gpu-portal", "operation": "Update", "time": AT, "fieldsV1": fields}],
        **more,
    }


def condition(type_: str, status: str, reason: str, message: str, at: str = AT) -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": at,
        "observedGeneration": 1,
    }


def a_class(number: int) -> dict[str, Any]:
    source = {"devicePlugin": {"resourceName": f"nvidia.com/GPU_{number}"}}
    spec = {"vendor": "NVIDIA", "model": f"GPU {number}", "mode": "passthrough", "source": source}
    return {"metadata": metadata(f"class-{number}", number), "spec": spec, "status": {"free": 1}}


def a_node(number: int) -> dict[str, Any]:
    units = {
        "cpu": "128",
        "memory": "1056Gi",
        "pods": "110",
        "ephemeral-storage": "1Ti",
        "hugepages-1Gi": "0",
        f"nvidia.com/GPU_{number % CLASSES}": str(PER_NODE),
    }
    labels = {f"example.com/label-{label}": f"value-{label}" for label in range(20)}
    labels |= {"kubevirt.io/schedulable": "true", "kubernetes.io/hostname": f"node-{number:05}"}
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure")
    conditions = [
        {
            "type": kind,
            "status": "False",
            "reason": f"KubeletHasNo{kind}",
            "message": f"kubelet has no {kind}",
        }
        for kind in kinds
    ]
    conditions.append({"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": AT})
    images = [{"names": [f"registry.example.com/image-{image}:v1"], "sizeBytes": 1} for image in range(20)]
    status = {"capacity": units, "allocatable": units, "conditions": conditions, "images": images}
    return {"metadata": metadata(f"node-{number:05}", number, labels=labels), "spec": {}, "status": status}


def a_gpu_node(number: int) -> dict[str, Any]:
    resource = {
        "name": f"nvidia.com/GPU_{number % CLASSES}",
        "capacity": PER_NODE,
        "allocatable": PER_NODE,
    }
    owner = {"apiVersion": "v1", "kind": "Node", "name": f"node-{number:05}", "uid": f"uid-{number}"}
    words = "No node agent publishes devices here."
    status = {
        "resources": [resource],
        "observedAt": AT,
        "conditions": [condition("Consistent", "Unknown", "NoDevicesPublished", words)],
    }
    return {"metadata": metadata(f"node-{number:05}", number, ownerReferences=[owner]), "status": status}


def a_namespace(number: int) -> dict[str, Any]:
    labels = {"tenant.cozystack.io/tenant-root": "", f"tenant.cozystack.io/tenant-{number:04}": ""}
    return {"metadata": metadata(f"tenant-{number:04}", number, labels=labels)}


def a_quota(number: int) -> dict[str, Any]:
    spec = {"hard": {"gpu.cozystack.io/total": "400", "limits.cpu": "100", "requests.storage": "1Ti"}}
    used = {"gpu.cozystack.io/total": "100", "limits.cpu": "3", "requests.storage": "1Gi"}
    namespace = f"tenant-{number:04}"
    return {
        "metadata": metadata("gpus", number, namespace=namespace),
        "spec": spec,
        "status": {"hard": spec["hard"], "used": used},
    }


def a_claim(number: int, *, nodes: int, pods: int) -> dict[str, Any]:
    node = number % nodes
    is_used = number < pods
    attached = {"kind": "VirtualMachineInstance", "name": f"vm-{number:06}", "uid": f"uid-of-vm-{number:06}"}
    conditions = [
        condition("Bound", "True", "Allocated", "The units are held on a node.", moment(number)),
        condition(
            "Attached",
            str(is_used),
            "VirtualMachineRunning" if is_used else "NeverAttached",
            "A VM.",
            moment(number + 3),
        ),
        condition("Healthy", "True", "Healthy", "Nothing is wrong.", moment(number)),
    ]
    labels = {"app.kubernetes.io/name": "train", "gpu.example.com/owner": f"team-{number % 50}"}
    status = {
        "nodeName": f"node-{node:05}",
        "boundAt": moment(number),
        "conditions": conditions,
        "observedGeneration": 1,
        **({"attachedTo": attached} if is_used else {}),
    }
    finalizers = {"finalizers": ["gpu.cozystack.io/release"]} if is_used else {}
    name = f"claim-{number:06}"
    return {
        "metadata": metadata(
            name, number, namespace=f"tenant-{number % TENANTS:04}", labels=labels, **finalizers
        ),
        "spec": {"className": f"class-{node % CLASSES}", "count": 1},
        "status": status,
    }


def a_pod(number: int, *, nodes: int) -> dict[str, Any]:
    node = number % nodes
    quantities = {"cpu": "8", "memory": "64Gi", f"nvidia.com/GPU_{node % CLASSES}": "1"}
    vm = f"vm-{number:06}"
    owner = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "name": vm,
        "uid": f"uid-of-{vm}",
    }
    body = metadata(
        f"virt-launcher-{vm}",
        number,
        namespace=f"tenant-{number % TENANTS:04}",
        labels={"kubevirt.io": "virt-launcher", "vm.kubevirt.io/name": vm},
        annotations={"gpu.cozystack.io/claims": f"claim-{number:06}", "kubevirt.io/domain": vm},
        ownerReferences=[{**owner, "controller": True}],
    )
    resources = {"requests": quantities, "limits": quantities}
    containers = [{"name": "compute", "image": "virt-launcher", "resources": resources}]
    return {
        "metadata": body,
        "spec": {"nodeName": f"node-{node:05}", "containers": containers},
        "status": {"phase": "Running"},
    }


def pages(make: Callable[[int], dict[str, Any]], count: int) -> Iterator[list[bytes]]:
    for start in range(0, count, PAGE):
        yield [json.dumps(make(number)).encode() for number in range(start, min(count, start + PAGE))]


def feed(world: World, kind: Kind[T], make: Callable[[int], dict[str, Any]], count: int) -> None:
    """List the kind; print how much the process has grown by it and how long the work took."""
    before, spent = resident(), 0.0
    decode = msgspec.json.Decoder(kind.model).decode
    for page in pages(make, count):
        started_at = time.process_time()
        for raw in page:
            found: Any = decode(raw)
            namespace, name = found.metadata.namespace, found.metadata.name
            world.see(kind, Event(EventType.ADDED, object=found, namespace=namespace, name=name))
        spent += time.process_time() - started_at
    world.see(kind, Event(EventType.LISTED))
    world.ledger.take_changes()
    print(f"{count:8} {kind.plural:16} {resident() - before:8.1f} MiB {spent:8.2f} s")


def resident() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--claims", type=int, default=100_000)
    parser.add_argument("--pods", type=int, default=50_000)
    options = parser.parse_args()
    print(f"{'':8} {'before anything':16} {resident():8.1f} MiB")
    world = World(Ledger(), stale_seconds=10.0, on_event=_ignore)
    feed(world, NAMESPACES, a_namespace, TENANTS)
    feed(world, RESOURCE_QUOTAS, a_quota, TENANTS)
    feed(world, NODES, a_node, options.nodes)
    feed(world, GPU_NODES, a_gpu_node, options.nodes)
    feed(world, GPU_CLASSES, a_class, CLASSES)
    feed(world, GPU_CLAIMS, lambda n: a_claim(n, nodes=options.nodes, pods=options.pods), options.claims)
    feed(world, PODS, lambda n: a_pod(n, nodes=options.nodes), options.pods)
    print(f"{'':8} {'in all':16} {resident():8.1f} MiB")
    started_at = time.perf_counter()
    settle_picture()
    seconds = time.perf_counter() - started_at
    print(f"{'':8} {'settled':16} {resident():8.1f} MiB {seconds:8.3f} s")


def _ignore(kind: AnyKind, event: Event[Any]) -> None:
    """Nobody acts on it here."""


if __name__ == "__main__":
    main()
