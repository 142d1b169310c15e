"""The cluster of the load: 1,000 nodes, 20 classes, 1,000 tenants in a tree, budgets of every spelling.

Nine kinds of GPU, each sold by two classes that share the units; of the remaining two classes one sells the last unit there is,
the other stands behind a taint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from bench.oversell.facts import TREE
from kube.aio import AsyncGateway
from kube.kinds import GPU_CLASSES, NAMESPACES, NODES, RESOURCE_QUOTAS

T = TypeVar("T")

KINDS: Final = 9
CAPACITIES: Final = (8, 4, 2, 1)
LARGEST: Final = max(CAPACITIES)
LAST: Final = "last"
LAST_NODE: Final = "node-last"
TAINTED: Final = "tainted"
RACERS: Final = "tenant-race"
"""A family of its own, that may have one unit in all."""
RACER_CHILDREN: Final = 4
CHILDREN: Final = 9
FORBIDDEN_CHILD: Final = "c8"
TOTAL_LIMIT: Final = 40
_AT_ONCE: Final = 24
_TAINT: Final = {"key": "example.org/dedicated", "value": "gpus", "effect": "NoSchedule"}


@dataclass(frozen=True)
class Plan:
    """How large everything is."""

    nodes: int = 1000
    tenants: int = 1000

    @property
    def groups(self) -> int:
        return self.tenants // (CHILDREN + 1)

    def namespaces(self) -> list[str]:
        return [name for group in range(self.groups) for name in self._family(group)]

    def free_namespaces(self) -> list[str]:
        """Name the tenants that may order at all."""
        return [name for name in self.namespaces() if not name.endswith(f"-{FORBIDDEN_CHILD}")]

    def forbidden_namespaces(self) -> list[str]:
        return [f"{parent(group)}-{FORBIDDEN_CHILD}" for group in range(self.groups)]

    def racers(self) -> list[str]:
        """Name the tenants that share one unit of budget."""
        return [f"{RACERS}-c{child}" for child in range(RACER_CHILDREN)]

    def _family(self, group: int) -> list[str]:
        return [parent(group), *(f"{parent(group)}-c{child}" for child in range(CHILDREN))]


def parent(group: int) -> str:
    return f"tenant-g{group}"


def resource(kind: int) -> str:
    return f"vendor.example/gpu-{kind}"


def class_names() -> list[str]:
    """Name the classes that are ordered all the time, in the order of their popularity."""
    return [name for kind in range(KINDS) for name in (f"whole-{kind}", f"part-{kind}")] + [TAINTED]


async def build(gateway: AsyncGateway, plan: Plan) -> None:
    """Make everything there is before the first order."""
    await _all(lambda body: gateway.create(NAMESPACES, body), _namespaces(plan))
    await _all(lambda quota: gateway.create(RESOURCE_QUOTAS, quota[1], namespace=quota[0]), _quotas(plan))
    await _all(lambda node: _make_node(gateway, *node), _nodes(plan))
    await _all(lambda body: gateway.create(GPU_CLASSES, body), _classes())


async def _all(make: Callable[[T], Awaitable[object]], bodies: Iterable[T]) -> None:
    left = iter(bodies)

    async def work() -> None:
        for body in left:
            await make(body)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(work())


def _namespaces(plan: Plan) -> Iterable[dict[str, Any]]:
    for name in (*plan.namespaces(), RACERS, *plan.racers()):
        above = name.rpartition("-")[0]
        lineage = {name} if above == "tenant" else {name, above}
        yield {"metadata": {"name": name, "labels": {TREE + above: "" for above in sorted(lineage)}}}


def _quotas(plan: Plan) -> Iterable[tuple[str, dict[str, Any]]]:
    yield RACERS, _quota({"gpu.cozystack.io/total": "1"})
    spellings = ("", "requests.", "limits.")
    for group in range(plan.groups):
        spelling = spellings[group % 3]
        if group % 2 == 0:
            hard = {f"{spelling}gpu.cozystack.io/total": str(TOTAL_LIMIT)}
            if group % 4 == 0:
                hard["gpu.cozystack.io/whole-0"] = "6"
            yield parent(group), _quota(hard)
        if group % 5 == 0:
            yield f"{parent(group)}-c0", _quota({f"{spelling}gpu.cozystack.io/total": "5"})
        yield f"{parent(group)}-{FORBIDDEN_CHILD}", _quota({f"{spelling}gpu.cozystack.io/total": "0"})


def _quota(hard: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "gpus"}, "spec": {"hard": hard}}


def _nodes(plan: Plan) -> Iterable[tuple[dict[str, Any], dict[str, str]]]:
    labels = {"kubevirt.io/schedulable": "true"}
    yield {"metadata": {"name": LAST_NODE, "labels": labels}}, {f"vendor.example/{LAST}": "1"}
    for number in range(plan.nodes - 1):
        pool = {**labels, "pool": "ab"[number // KINDS % 2]}
        units = str(CAPACITIES[number // KINDS % len(CAPACITIES)])
        body: dict[str, Any] = {"metadata": {"name": f"node-{number}", "labels": pool}}
        if number % 25 == 0:
            # The other classes have units here as well, and must not sell them.
            yield (
                {**body, "spec": {"taints": [_TAINT]}},
                {f"vendor.example/{TAINTED}": units, resource(number % KINDS): units},
            )
        else:
            yield body, {resource(number % KINDS): units}


async def _make_node(gateway: AsyncGateway, body: dict[str, Any], units: dict[str, str]) -> None:
    name = body["metadata"]["name"]
    await gateway.create(NODES, body)
    quantities = {"cpu": "64", "pods": "110", **units}
    status = {
        "capacity": quantities,
        "allocatable": quantities,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    await gateway.patch(NODES, name, {"status": status}, subresource="status")


def _classes() -> Iterable[dict[str, Any]]:
    for kind in range(KINDS):
        yield _class(f"whole-{kind}", resource(kind))
        vgpu: dict[str, Any] = {"mode": "vgpu", "profile": "quarter", "maxCount": 2}
        if kind % 2:
            vgpu["nodeSelector"] = {"pool": "a"}
        if kind % 3 == 0:
            vgpu["onCordon"] = "Stay"
        yield _class(f"part-{kind}", resource(kind), **vgpu)
    yield _class(LAST, f"vendor.example/{LAST}")
    toleration = {"key": _TAINT["key"], "operator": "Equal", "value": _TAINT["value"], "effect": "NoSchedule"}
    yield _class(TAINTED, f"vendor.example/{TAINTED}", tolerations=[toleration])


def _class(name: str, resource_name: str, **spec: Any) -> dict[str, Any]:
    source = {"devicePlugin": {"resourceName": resource_name}}
    body = {"vendor": "Example", "model": name, "mode": "passthrough", "source": source, **spec}
    return {"metadata": {"name": name}, "spec": body}
