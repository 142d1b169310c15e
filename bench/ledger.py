"""What one event costs the ledger, beside computing the same numbers from scratch.

    python -m bench.ledger [--nodes 10000] [--claims 100000] [--events 50000]

Fills a ledger, then applies events of each sort and asks for a class's capacity after every one of them, so that the work of
bringing the sums up to date is inside the figure; the bare query, measured first, is taken off again. The recomputation is a
new ledger fed with the same objects, in this run. Objects are decoded in small lots just before they are applied, as a watch
delivers them; decoding is not in the figures. Processor time, as nothing here waits, and without the garbage collector, as
timeit does. Memory decides at this size: the yardstick is one lookup in a dictionary of as many entries as there are claims, on
this machine at this moment.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
from collections.abc import Callable, Sequence
from time import process_time
from typing import TypeVar

import msgspec

from gpu.corekinds import Node, NodeCondition, Pod
from gpu.fit import Order
from gpu.ledger import Ledger
from gpu.resources import GPUClaim
from tests.builders import a_claim, a_class, a_launcher, a_namespace, a_node, a_quota

CLASSES = 8
PER_NODE = 16
TENANTS = 200
LOT = 200
T = TypeVar("T")
CLASS_NAMES = [f"class-{number}" for number in range(CLASSES)]


class Cluster:
    """Nodes of eight classes, most of their units held, half of the holds in use."""

    def __init__(self, *, nodes: int, claims: int) -> None:
        self.size = nodes
        self.classes = [
            a_class(name, resource=f"nvidia.com/GPU_{number}") for number, name in enumerate(CLASS_NAMES)
        ]
        self.nodes = [self._node(number) for number in range(nodes)]
        self.claims = [self.claim(f"claim-{number}", number % nodes, number) for number in range(claims)]
        self.pods = [self.launcher(claim) for claim in self.claims[::2]]

    def _node(self, number: int) -> Node:
        node = a_node(
            f"node-{number:05}",
            allocatable={
                "cpu": "128",
                "memory": "1056Gi",
                "pods": "110",
                f"nvidia.com/GPU_{number % CLASSES}": str(PER_NODE),
            },
            labels={f"example.com/label-{label}": f"value-{label}" for label in range(15)},
        )
        node.status.conditions = [
            NodeCondition(type=kind, status=status)
            for kind, status in (
                ("MemoryPressure", "False"),
                ("DiskPressure", "False"),
                ("PIDPressure", "False"),
                ("Ready", "True"),
            )
        ]
        return node

    def claim(self, name: str, node: int, tenant: int) -> GPUClaim:
        return a_claim(
            name,
            of=CLASS_NAMES[node % CLASSES],
            namespace=f"tenant-{tenant % TENANTS}",
            node=f"node-{node:05}",
        )

    def launcher(self, claim: GPUClaim) -> Pod:
        return a_launcher(
            f"vm-{claim.metadata.name}",
            claims=[claim.metadata.name],
            asks={
                f"nvidia.com/GPU_{claim.spec.class_name[-1]}": "1",
                "cpu": "8",
                "memory": "64Gi",
                "devices.kubevirt.io/kvm": "1",
                "devices.kubevirt.io/tun": "1",
                "devices.kubevirt.io/vhost-net": "1",
            },
            node=claim.status.node_name or "",
            namespace=claim.metadata.namespace,
        )

    def feed(self) -> Ledger:
        ledger = Ledger()
        for gpu_class in self.classes:
            ledger.set_class(gpu_class)
        for node in self.nodes:
            ledger.set_node(node)
        ledger.set_namespace(a_namespace("tenant-root"))
        ledger.set_quota(a_quota({"gpu.cozystack.io/total": 10**6}, namespace="tenant-root"))
        for tenant in range(TENANTS):
            ledger.set_namespace(a_namespace(f"tenant-{tenant}", ancestors=["tenant-root"]))
        for claim in self.claims:
            ledger.set_claim(claim)
        for pod in self.pods:
            ledger.set_pod(pod)
        ledger.capacity(CLASS_NAMES[0])
        ledger.take_changes()
        return ledger


class Meter:
    """Measures against one ledger, with the bare query taken off."""

    def __init__(self, ledger: Ledger, count: int) -> None:
        self._ledger = ledger
        self._query_us = 0.0
        self._query_us = self.measure(list(range(count)), lambda number: number, lambda _: None)

    @property
    def query_us(self) -> float:
        return self._query_us

    def measure(self, events: Sequence[T], deliver: Callable[[T], T], apply: Callable[[T], object]) -> float:
        """Give microseconds per event."""
        ledger, spent = self._ledger, 0.0
        gc.collect()
        gc.disable()
        for start in range(0, len(events), LOT):
            lot = [deliver(event) for event in events[start : start + LOT]]
            started = process_time()
            for number, event in enumerate(lot):
                apply(event)
                ledger.capacity(CLASS_NAMES[number % CLASSES])
            ledger.take_changes()
            spent += process_time() - started
        gc.enable()
        return spent / len(events) * 1e6 - self._query_us


def _decoded(kind: type[T]) -> Callable[[T], T]:
    decoder = msgspec.json.Decoder(kind)

    def deliver(thing: T) -> T:
        return decoder.decode(msgspec.json.encode(thing))

    return deliver


def _lookup_us(entries: int) -> float:
    table = {f"key-{number}": [number] for number in range(entries)}
    keys = random.Random(4).choices(list(table), k=200_000)
    started = process_time()
    for key in keys:
        table[key][0] += 1
    return (process_time() - started) / len(keys) * 1e6


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description="What one event costs the ledger.")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--claims", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=50_000)
    given = parser.parse_args()
    chance = random.Random(4)

    before = _peak_kib()
    cluster = Cluster(nodes=given.nodes, claims=given.claims)
    objects = _peak_kib()
    gc.collect()
    gc.disable()
    started = process_time()
    ledger = cluster.feed()
    full_us = (process_time() - started) * 1e6
    gc.enable()
    filled = _peak_kib()

    bound = [
        cluster.claim(f"new-{number}", chance.randrange(given.nodes), number)
        for number in range(given.events)
    ]
    replace = msgspec.structs.replace
    new = [replace(claim, status=replace(claim.status, node_name=None)) for claim in bound]
    leaving = [
        replace(claim, metadata=replace(claim.metadata, deletion_timestamp=claim.metadata.creation_timestamp))
        for claim in bound
    ]
    pods = [cluster.launcher(claim) for claim in bound]
    nodes = chance.choices(cluster.nodes, k=given.events)
    orders = [(f"order-{n}", Order(c.metadata.namespace, c.spec.class_name)) for n, c in enumerate(bound)]

    def order(asked: tuple[str, Order]) -> None:
        ledger.reserve(*asked, expires_at=10.0)
        ledger.cancel(asked[0])

    meter = Meter(ledger, given.events)
    claim, pod, node = _decoded(GPUClaim), _decoded(Pod), _decoded(Node)
    rows = {
        "node heartbeat": meter.measure(nodes, node, ledger.set_node),
        "claim created": meter.measure(new, claim, ledger.set_claim),
        "claim bound": meter.measure(bound, claim, ledger.set_claim),
        "claim status echo": meter.measure(bound, claim, ledger.set_claim),
        "VM starts": meter.measure(pods, pod, ledger.set_pod),
        "pod status echo": meter.measure(pods, pod, ledger.set_pod),
        "VM stops": meter.measure(
            pods, pod, lambda gone: ledger.remove_pod(gone.metadata.namespace, gone.metadata.name)
        ),
        "claim deleting": meter.measure(leaving, claim, ledger.set_claim),
        "claim gone": meter.measure(
            bound, claim, lambda gone: ledger.remove_claim(gone.metadata.namespace, gone.metadata.name)
        ),
    }
    mean = sum(rows.values()) / len(rows)
    rows["mean of events"] = mean
    rows["order reserved + cancelled"] = meter.measure(orders, lambda asked: asked, order)
    rows["capacity asked"] = meter.query_us

    print(f"{given.nodes:,} nodes, {given.claims:,} claims, {len(cluster.pods):,} pods; processor time")
    print(f"{'event':<28}{'us':>10}{'full / event':>16}")
    for name, cost in rows.items():
        print(f"{name:<28}{cost:>10.2f}{full_us / cost:>16,.0f}")
    print(f"{'full recomputation':<28}{full_us:>10,.0f}{1:>16}")
    print(
        f"memory: objects {(objects - before) / 1024:,.0f} MiB, ledger {(filled - objects) / 1024:,.0f} MiB"
    )
    print(f"yardstick: one random dictionary lookup {_lookup_us(given.claims):.2f} us")
    print(f"target of at most 5 us per event: {'met' if mean <= 5 else 'MISSED'}")


if __name__ == "__main__":
    main()
