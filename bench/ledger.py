"""What one event costs the ledger, beside computing the same numbers from scratch.

    python -m bench.ledger [--nodes 10000] [--claims 100000] [--events 200000]

Fills a ledger, then applies events of each sort and asks for a class's capacity after every one of them, so that the work of
bringing the sums up to date is inside the figure; the bare query, measured first, is taken off again. Processor time, as
nothing here waits. The recomputation is a new ledger fed with the same objects, in this run.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
from collections.abc import Callable
from time import process_time

import msgspec

from gpu.corekinds import Node, NodeCondition, Pod
from gpu.fit import Order
from gpu.ledger import Ledger
from gpu.resources import GPUClaim, GPUClass
from tests.builders import a_claim, a_class, a_launcher, a_namespace, a_node, a_quota

CLASSES = 8
PER_NODE = 16
TENANTS = 200


class Cluster:
    """Nodes of eight classes, most of their units held, half of the holds in use."""

    def __init__(self, *, nodes: int, claims: int) -> None:
        self.classes: list[GPUClass] = [
            a_class(f"class-{number}", resource=f"nvidia.com/GPU_{number}") for number in range(CLASSES)
        ]
        self.nodes: list[Node] = [self._node(number) for number in range(nodes)]
        self.tenants = [f"tenant-{number}" for number in range(TENANTS)]
        self.claims: list[GPUClaim] = [self._claim(number, nodes) for number in range(claims)]
        self.pods: list[Pod] = [self._launcher(claim) for claim in self.claims[::2]]

    def _node(self, number: int) -> Node:
        labels = {f"example.com/label-{label}": f"value-{label}" for label in range(15)}
        amounts: dict[str, int | str] = {
            "cpu": "128",
            "memory": "1056Gi",
            "pods": "110",
            f"nvidia.com/GPU_{number % CLASSES}": str(PER_NODE),
        }
        return a_node(f"node-{number:05}", allocatable=amounts, labels=labels)

    def _claim(self, number: int, nodes: int) -> GPUClaim:
        node = number % nodes
        return a_claim(
            f"claim-{number}",
            of=f"class-{node % CLASSES}",
            namespace=self.tenants[number % TENANTS],
            node=f"node-{node:05}",
        )

    def _launcher(self, claim: GPUClaim) -> Pod:
        return a_launcher(
            f"vm-{claim.metadata.name}",
            claims=[claim.metadata.name],
            asks={f"nvidia.com/GPU_{claim.spec.class_name[-1]}": 1},
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
        for tenant in self.tenants:
            ledger.set_namespace(a_namespace(tenant, ancestors=["tenant-root"]))
        for claim in self.claims:
            ledger.set_claim(claim)
        for pod in self.pods:
            ledger.set_pod(pod)
        ledger.capacity("class-0")
        ledger.take_changes()
        return ledger


def heartbeats(cluster: Cluster, chance: random.Random, count: int) -> list[tuple[str, Node]]:
    """New objects that differ in the condition alone, as kubelet sends them."""
    picked = chance.choices(cluster.nodes, k=count)
    return [
        (
            node.metadata.labels["kubevirt.io/schedulable"] and "class-0",
            msgspec.json.decode(
                msgspec.json.encode(
                    msgspec.structs.replace(
                        node,
                        status=msgspec.structs.replace(
                            node.status,
                            conditions=[
                                NodeCondition(type=kind, status=status)
                                for kind, status in (
                                    ("MemoryPressure", "False"),
                                    ("DiskPressure", "False"),
                                    ("PIDPressure", "False"),
                                    ("Ready", "True"),
                                )
                            ],
                        ),
                    )
                ),
                type=Node,
            ),
        )
        for node in picked
    ]


def measure(ledger: Ledger, apply: Callable[[int], str], count: int) -> float:
    """Give microseconds per event and the capacity query after it."""
    gc.collect()
    started = process_time()
    for number in range(count):
        ledger.capacity(apply(number))
        if not number % 100:
            ledger.take_changes()
    return (process_time() - started) / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--claims", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=100_000)
    given = parser.parse_args()
    chance = random.Random(4)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cluster = Cluster(nodes=given.nodes, claims=given.claims)
    objects = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gc.collect()
    gc.freeze()
    started = process_time()
    ledger = cluster.feed()
    full_us = (process_time() - started) * 1e6
    filled = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gc.collect()
    gc.freeze()

    rows: list[tuple[str, float]] = []
    count = given.events

    names = [gpu_class.metadata.name for gpu_class in cluster.classes]
    query_us = measure(ledger, lambda n: names[n % CLASSES], count)
    beats = heartbeats(cluster, chance, min(count, 20_000))
    rows.append(("node heartbeat", measure(ledger, lambda n: _beat(ledger, beats, n), len(beats))))

    fresh = [_new_claim(number, cluster, chance) for number in range(count)]
    bound = [_at(claim, chance, given.nodes) for claim in fresh]
    freed = [_releasing(claim) for claim in bound]
    pods = [cluster._launcher(claim) for claim in bound]
    rows.append(("claim created", measure(ledger, lambda n: _claim(ledger, fresh[n]), count)))
    rows.append(("claim bound", measure(ledger, lambda n: _claim(ledger, bound[n]), count)))
    rows.append(("claim status echo", measure(ledger, lambda n: _claim(ledger, bound[n]), count)))
    rows.append(("VM starts", measure(ledger, lambda n: _pod(ledger, pods[n], bound[n]), count)))
    rows.append(("pod status echo", measure(ledger, lambda n: _pod(ledger, pods[n], bound[n]), count)))
    rows.append(("VM stops", measure(ledger, lambda n: _pod_gone(ledger, pods[n], bound[n]), count)))
    rows.append(("claim deleting", measure(ledger, lambda n: _claim(ledger, freed[n]), count)))
    rows.append(("claim gone", measure(ledger, lambda n: _claim_gone(ledger, bound[n]), count)))
    rows = [(name, cost - query_us) for name, cost in rows]
    mean = sum(cost for _, cost in rows) / len(rows)

    orders = [Order(claim.metadata.namespace, claim.spec.class_name, 1) for claim in fresh]
    decisions = measure(ledger, lambda n: _order(ledger, orders[n], n), count) - query_us

    print(
        f"{given.nodes:,} nodes, {given.claims:,} claims, {len(cluster.pods):,} pods; capacity asked after every event"
    )
    print(f"{'event':<28}{'us':>10}{'full / event':>16}")
    for name, cost in rows:
        print(f"{name:<28}{cost:>10.2f}{full_us / cost:>16,.0f}")
    print(f"{'mean of events':<28}{mean:>10.2f}{full_us / mean:>16,.0f}")
    print(f"{'order reserved + cancelled':<28}{decisions:>10.2f}{full_us / decisions:>16,.0f}")
    print(f"{'capacity asked':<28}{query_us:>10.2f}{full_us / query_us:>16,.0f}")
    print(f"{'full recomputation':<28}{full_us:>10,.0f}{1:>16}")
    print(
        f"memory: objects {(objects - before) / 1024:,.0f} MiB, ledger {(filled - objects) / 1024:,.0f} MiB"
    )
    print(f"target: at most 5 us per event: {'met' if mean <= 5 else 'MISSED'}")


def _beat(ledger: Ledger, beats: list[tuple[str, Node]], number: int) -> str:
    class_name, node = beats[number]
    ledger.set_node(node)
    return class_name


def _claim(ledger: Ledger, claim: GPUClaim) -> str:
    ledger.set_claim(claim)
    return claim.spec.class_name


def _claim_gone(ledger: Ledger, claim: GPUClaim) -> str:
    ledger.remove_claim(claim.metadata.namespace, claim.metadata.name)
    return claim.spec.class_name


def _pod(ledger: Ledger, pod: Pod, claim: GPUClaim) -> str:
    ledger.set_pod(pod)
    return claim.spec.class_name


def _pod_gone(ledger: Ledger, pod: Pod, claim: GPUClaim) -> str:
    ledger.remove_pod(pod.metadata.namespace, pod.metadata.name)
    return claim.spec.class_name


def _order(ledger: Ledger, order: Order, number: int) -> str:
    ledger.reserve(f"order-{number}", order, expires_at=10.0)
    ledger.cancel(f"order-{number}")
    return order.class_name


def _new_claim(number: int, cluster: Cluster, chance: random.Random) -> GPUClaim:
    return a_claim(f"new-{number}", of=f"class-{number % CLASSES}", namespace=chance.choice(cluster.tenants))


def _at(claim: GPUClaim, chance: random.Random, nodes: int) -> GPUClaim:
    number = chance.randrange(nodes // CLASSES) * CLASSES + int(claim.spec.class_name[-1])
    status = msgspec.structs.replace(claim.status, node_name=f"node-{number:05}")
    return msgspec.structs.replace(claim, status=status)


def _releasing(claim: GPUClaim) -> GPUClaim:
    metadata = msgspec.structs.replace(claim.metadata, deletion_timestamp=claim.metadata.creation_timestamp)
    return msgspec.structs.replace(claim, metadata=metadata)


if __name__ == "__main__":
    main()
