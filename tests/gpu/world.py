"""A small cluster for property tests, and what the ledger should say of it, worked out the long way.

Nothing here is shared with the ledger but the kinds, eligibility and quantities: every answer is a sum over everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from itertools import chain
from typing import Any, TypeVar

from gpu.corekinds import Namespace, Node, Pod, ResourceQuota
from gpu.eligibility import NodeReason, class_obstacles, serves
from gpu.fit import Budget, Capacity, Order
from gpu.quantities import parse_units
from gpu.resources import CLAIMS_ANNOTATION, AttachedTo, GPUClaim, GPUClass
from gpu.stock import ClassTotals

Key = tuple[str, str]
F = TypeVar("F", bound=Callable[..., Any])


def _once(method: F) -> F:
    """Work an answer out once for each state of the world: the test asks for the same sums many times."""

    @wraps(method)
    def remembered(self: World, *asked: Any) -> Any:
        known = self.worked_out
        if (method.__name__, *asked) not in known:
            known[(method.__name__, *asked)] = method(self, *asked)
        return known[(method.__name__, *asked)]

    return remembered  # type: ignore[return-value]  # the same call


@dataclass
class World:
    """The state of the cluster, the orders in flight, and what the ledger decided."""

    classes: dict[str, GPUClass] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[Key, Pod] = field(default_factory=dict)
    claims: dict[Key, GPUClaim] = field(default_factory=dict)
    quotas: dict[Key, ResourceQuota] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    last_classes: dict[str, GPUClass] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    decisions: dict[str, str] = field(default_factory=dict)
    worked_out: dict[Any, Any] = field(default_factory=dict)

    def resource(self, class_name: str) -> str | None:
        gpu_class = self.last_classes.get(class_name)
        return gpu_class.resource_name if gpu_class else None

    # Cells

    @_once
    def covering(self, key: Key) -> Pod | None:
        claim = self.claims[key]
        found = [
            pod
            for pod in self.pods.values()
            if pod.status.phase not in {"Succeeded", "Failed"}
            and pod.metadata.namespace == key[0]
            and key[1] in pod.metadata.annotations.get(CLAIMS_ANNOTATION, "").split(",")
            and any(
                o.controller and o.kind == "VirtualMachineInstance" for o in pod.metadata.owner_references
            )
            and claim.status.node_name
            and pod.spec.node_name == claim.status.node_name
        ]
        return min(found, key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.uid), default=None)

    def attachment(self, key: Key) -> AttachedTo | None:
        pod = self.covering(key)
        if pod is None:
            return None
        owner = pod.metadata.owner_references[0]
        return AttachedTo(kind=owner.kind, name=owner.name, uid=owner.uid)

    def held(self, node: str, resource: str) -> int:
        total = 0
        for claim in self.claims.values():
            if self.resource(claim.spec.class_name) == resource:
                total += claim.spec.count * (claim.status.node_name == node)
                total += claim.spec.count * (self.decisions.get(claim.metadata.uid) == node)
        for uid, order in self.orders.items():
            if self.resource(order.class_name) == resource and self.decisions[uid] == node:
                total += order.count
        return total

    def in_use(self, node: str, resource: str) -> int:
        return sum(
            claim.spec.count
            for key, claim in self.claims.items()
            if self.resource(claim.spec.class_name) == resource
            and claim.status.node_name == node
            and self.covering(key) is not None
        )

    def foreign(self, node: str, resource: str) -> int:
        total = 0
        for pod_key, pod in self.pods.items():
            if pod.spec.node_name != node or pod.status.phase in {"Succeeded", "Failed"}:
                continue
            asks = sum(
                parse_units(container.resources.requests.get(resource, 0)) or 0
                for container in pod.spec.containers
            )
            covered = sum(
                claim.spec.count
                for key, claim in self.claims.items()
                if (cover := self.covering(key)) is not None
                and (cover.metadata.namespace, cover.metadata.name) == pod_key
                and self.resource(claim.spec.class_name) == resource
            )
            total += max(0, asks - covered)
        return total

    def listed(self, node: str, resource: str) -> tuple[int, int]:
        if node not in self.nodes:
            return (0, 0)
        status = self.nodes[node].status
        return (
            parse_units(status.capacity.get(resource, 0)) or 0,
            parse_units(status.allocatable.get(resource, 0)) or 0,
        )

    @_once
    def cell(self, node: str, resource: str) -> tuple[int, ...]:
        """capacity, allocatable, foreign, held, in_use, free, over_committed."""
        capacity, allocatable = self.listed(node, resource)
        foreign, held = self.foreign(node, resource), self.held(node, resource)
        room = allocatable - foreign - held
        over = min(held, -room) if room < 0 else 0
        free = 0 if self.is_closed(node) else max(0, room)
        return (capacity, allocatable, foreign, held, self.in_use(node, resource), free, over)

    def is_closed(self, node: str) -> bool:
        """Say whether a claim sits there of which nobody can say what it has."""
        return any(
            claim.status.node_name == node and claim.spec.class_name not in self.last_classes
            for claim in self.claims.values()
        )

    def free(self, node: str, resource: str) -> int:
        return self.cell(node, resource)[5]

    # Classes

    @_once
    def serving(self, class_name: str) -> list[str]:
        gpu_class = self.classes[class_name]
        return [name for name, node in sorted(self.nodes.items()) if serves(gpu_class, node).serves]

    @_once
    def suiting(self, class_name: str) -> set[str]:
        gpu_class = self.classes[class_name]
        return {name for name, node in self.nodes.items() if not class_obstacles(gpu_class, node)}

    def claims_of(self, class_name: str) -> int:
        named = [claim.spec.class_name for claim in self.claims.values()]
        named += [order.class_name for order in self.orders.values()]
        return named.count(class_name)

    def overlaps(self, class_name: str) -> tuple[str, ...]:
        mine, resource = self.suiting(class_name), self.classes[class_name].resource_name
        return tuple(
            sorted(
                other
                for other, gpu_class in self.classes.items()
                if other != class_name and gpu_class.resource_name == resource and mine & self.suiting(other)
            )
        )

    def waits(self, claim: GPUClaim) -> bool:
        return not (
            claim.status.node_name
            or claim.metadata.uid in self.decisions
            or claim.metadata.deletion_timestamp
        )

    def capacity(self, order: Order) -> Capacity:
        if order.class_name not in self.classes:
            return Capacity.unknown()
        resource = self.classes[order.class_name].resource_name
        frees = {node: self.free(node, resource) for node in self.serving(order.class_name)}
        sharing = {order.class_name, *self.overlaps(order.class_name)}
        waiting = sum(
            c.spec.count for c in self.claims.values() if self.waits(c) and c.spec.class_name in sharing
        )
        free = max(0, sum(frees.values()) - waiting)
        return Capacity(
            free=free,
            max_free_per_node=min(free, max(frees.values(), default=0)),
            has_eligible_node=bool(frees),
            free_on_set_node=self._on_set_node(order, frees, free, resource),
        )

    def _on_set_node(self, order: Order, frees: dict[str, int], free: int, resource: str) -> int | None:
        if order.set_name is None:
            return None
        members = [
            claim
            for (namespace, _), claim in self.claims.items()
            if namespace == order.namespace and claim.spec.set_name == order.set_name
        ]
        waiting = [claim for claim in members if self.waits(claim)]
        planned = [self.decisions[c.metadata.uid] for c in members if c.metadata.uid in self.decisions]
        planned += [
            self.decisions[uid]
            for uid, other in self.orders.items()
            if (other.namespace, other.set_name) == (order.namespace, order.set_name)
        ]
        bound = [
            c.status.node_name
            for c in members
            if c.status.node_name is not None and c.metadata.uid not in self.decisions
        ]
        where = bound or planned
        if not where:
            return 0 if waiting else None
        node = min(where, key=lambda node: (-where.count(node), node))
        ahead = sum(c.spec.count for c in waiting if self.resource(c.spec.class_name) == resource)
        return max(0, min(free, frees.get(node, 0) - ahead))

    def totals(self, class_name: str) -> ClassTotals:
        gpu_class = self.classes[class_name]
        resource, serving = gpu_class.resource_name, set(self.serving(class_name))
        sums = [0] * 6
        for name, node in self.nodes.items():
            obstacles = {obstacle.reason for obstacle in class_obstacles(gpu_class, node)}
            advertised = resource in node.status.capacity or resource in node.status.allocatable
            if NodeReason.SELECTOR_MISMATCH in obstacles or not advertised:
                continue
            capacity, _, foreign, held, in_use, free, _ = self.cell(name, resource)
            free = free if name in serving else 0
            out = max(0, capacity - held - foreign - free)
            for place, number in enumerate((capacity, out, held, in_use, foreign, free)):
                sums[place] += number
        return ClassTotals(*sums)

    # Budgets

    def budgets(self, namespace: str, class_name: str) -> tuple[Budget, ...]:
        found = (self._budget(namespace, class_name), self._budget(namespace, "total"))
        return tuple(budget for budget in found if budget is not None)

    @_once
    def _above(self, namespace: str) -> list[str]:
        known = self.namespaces.get(namespace)
        if known is None:
            return []
        names = {label.split("/")[1] for label in known.metadata.labels} - {namespace}
        return sorted(names, key=lambda name: (-self._depth(name), name))

    def _depth(self, namespace: str) -> int:
        if namespace in self.namespaces:
            return len(self.namespaces[namespace].metadata.labels) - 1
        return 0 if namespace == "tenant-root" else namespace.count("-")

    @_once
    def _declared(self, namespace: str, subject: str) -> tuple[int, str] | None:
        keys = [f"{prefix}gpu.cozystack.io/{subject}" for prefix in ("", "requests.", "limits.")]
        limits = [
            (int(quota.spec.hard[key]), f"{quota.metadata.namespace}/{quota.metadata.name}")
            for quota in self.quotas.values()
            for key in keys
            if quota.metadata.namespace == namespace and key in quota.spec.hard and not quota.spec.scopes
        ]
        return min(limits, default=None)

    @_once
    def _owner(self, namespace: str, subject: str) -> str | None:
        line = [namespace, *self._above(namespace)]
        return next((name for name in line if self._declared(name, subject) is not None), None)

    def _budget(self, namespace: str, subject: str) -> Budget | None:
        owner = self._owner(namespace, subject)
        if owner is None:
            return None
        limit, quota = self._declared(owner, subject) or (0, "")
        for other in self.namespaces:
            above = self._above(other)
            nearest = next((name for name in above if self._declared(name, subject) is not None), None)
            own = self._declared(other, subject)
            if owner in above and own is not None and nearest == owner:
                limit -= own[0]
        charges = chain(
            ((ns, claim.spec.class_name, claim.spec.count) for (ns, _), claim in self.claims.items()),
            ((order.namespace, order.class_name, order.count) for order in self.orders.values()),
        )
        used = sum(
            units
            for ns, class_name, units in charges
            if subject in (class_name, "total") and self._owner(ns, subject) == owner
        )
        return Budget(
            key=f"gpu.cozystack.io/{subject}",
            used=used,
            limit=max(0, limit),
            quota=quota,
            pool=owner,
            is_total=subject == "total",
        )
