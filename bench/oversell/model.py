"""The rules of the design once more, in the plainest way: everything is added up anew whenever it is asked for.

Written apart from ``gpu`` on purpose. What it indexes is only who is where, so that adding up stays short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bench.oversell.facts import ClaimFacts, ClassFacts, Json, Key, NodeFacts, QuotaFacts, ancestors_of

TOTAL: Final = "total"


@dataclass(frozen=True)
class Pool:
    """The namespaces that share one limit."""

    owner: str
    subject: str
    limit: int
    members: tuple[str, ...]


class Model:
    """Everything the API server has told."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeFacts] = {}
        self.classes: dict[str, ClassFacts] = {}
        self.claims: dict[Key, ClaimFacts] = {}
        self.quotas: dict[Key, QuotaFacts] = {}
        self.ancestors: dict[str, frozenset[str]] = {}
        self.unbound: set[Key] = set()
        self._at_node: defaultdict[str, set[Key]] = defaultdict(set)
        self._with_resource: defaultdict[str, set[str]] = defaultdict(set)
        self._in_namespace: defaultdict[str, set[Key]] = defaultdict(set)
        self._in_set: defaultdict[tuple[str, str], set[Key]] = defaultdict(set)
        self._below: defaultdict[str, set[str]] = defaultdict(set)
        self._limits: defaultdict[str, dict[str, Mapping[str, int]]] = defaultdict(dict)
        self._pools: dict[tuple[str, str], Pool | None] = {}

    # What is told

    def put_node(self, node: NodeFacts) -> None:
        self.drop_node(node.name)
        self.nodes[node.name] = node
        for resource in node.allocatable:
            self._with_resource[resource].add(node.name)

    def drop_node(self, name: str) -> None:
        old = self.nodes.pop(name, None)
        for resource in old.allocatable if old is not None else ():
            self._with_resource[resource].discard(name)

    def put_claim(self, claim: ClaimFacts) -> None:
        self.drop_claim(claim.key)
        self.claims[claim.key] = claim
        self._in_namespace[claim.key[0]].add(claim.key)
        if claim.set_name:
            self._in_set[claim.key[0], claim.set_name].add(claim.key)
        if claim.node:
            self._at_node[claim.node].add(claim.key)
        else:
            self.unbound.add(claim.key)

    def drop_claim(self, key: Key) -> ClaimFacts | None:
        claim = self.claims.pop(key, None)
        if claim is not None:
            self._in_namespace[key[0]].discard(key)
            self.unbound.discard(key)
            if claim.set_name:
                self._in_set[key[0], claim.set_name].discard(key)
            if claim.node:
                self._at_node[claim.node].discard(key)
        return claim

    # Units

    def resource_of(self, class_name: str) -> str | None:
        found = self.classes.get(class_name)
        return found.resource if found is not None else None

    def held(self, node: str, resource: str) -> int:
        """Add up what the claims on the node hold."""
        return sum(
            claim.count for claim in self.on_node(node) if self.resource_of(claim.class_name) == resource
        )

    def on_node(self, node: str) -> Iterable[ClaimFacts]:
        return (self.claims[key] for key in self._at_node[node])

    def set_members(self, namespace: str, set_name: str) -> list[ClaimFacts]:
        return [self.claims[key] for key in self._in_set[namespace, set_name]]

    def sets(self) -> Iterable[tuple[tuple[str, str], list[ClaimFacts]]]:
        return ((key, [self.claims[one] for one in members]) for key, members in self._in_set.items())

    def companions(self, claim: ClaimFacts) -> list[ClaimFacts]:
        """Give the claims of its set, itself among them."""
        return [claim] if claim.set_name is None else self.set_members(claim.key[0], claim.set_name)

    def room(self, node: str, resource: str) -> int:
        """Give the free units of one node."""
        found = self.nodes.get(node)
        allocatable = found.allocatable.get(resource, 0) if found is not None else 0
        return max(0, allocatable - self.held(node, resource))

    def with_resource(self, resource: str) -> list[str]:
        """Name the nodes that have such units at all."""
        return list(self._with_resource[resource])

    def serving(self, found: ClassFacts) -> list[str]:
        return [name for name in self.with_resource(found.resource) if found.is_served_by(self.nodes[name])]

    def free(self, found: ClassFacts) -> tuple[int, int]:
        """Give what is free of the class in all and on its best node."""
        rooms = [self.room(node, found.resource) for node in self.serving(found)]
        return sum(rooms), max(rooms, default=0)

    # Budgets

    def put_quota(self, quota: QuotaFacts) -> None:
        known = self.quotas.get(quota.key)
        self.quotas[quota.key] = quota
        if known is None or known.limits != quota.limits:
            self._limits[quota.key[0]][quota.key[1]] = quota.limits
            self._pools.clear()

    def drop_quota(self, key: Key) -> None:
        self.quotas.pop(key, None)
        self._limits[key[0]].pop(key[1], None)
        self._pools.clear()

    def put_namespace(self, namespace: Json) -> None:
        name = namespace["metadata"]["name"]
        above = ancestors_of(namespace)
        if self.ancestors.get(name) != above:
            self.ancestors[name] = above
            for ancestor in above:
                self._below[ancestor].add(name)
            self._pools.clear()

    def pools(self, namespace: str, class_name: str) -> list[Pool]:
        """Give the pools an order counts against: of its class, and of all classes."""
        found = (self.pool(namespace, class_name), self.pool(namespace, TOTAL))
        return [pool for pool in found if pool is not None]

    def pool(self, namespace: str, subject: str) -> Pool | None:
        key = namespace, subject
        if key not in self._pools:
            owner = self._owner(namespace, subject)
            self._pools[key] = None if owner is None else self._pool_of(owner, subject)
        return self._pools[key]

    def known_pools(self, namespace: str) -> list[Pool]:
        """Give the pools whose limit a quota of the namespace may change: its own, those above and those below."""
        related = {namespace, *self.ancestors.get(namespace, ()), *self._below[namespace]}
        found = {pool for pool in self._pools.values() if pool is not None and pool.owner in related}
        return list(found)

    def used(self, pool: Pool) -> int:
        """Add up what the claims of the pool's namespaces count for."""
        claims = (self.claims[key] for name in pool.members for key in self._in_namespace[name])
        return sum(claim.count for claim in claims if pool.subject in (TOTAL, claim.class_name))

    def _pool_of(self, owner: str, subject: str) -> Pool:
        limit = self._declared(owner, subject) or 0
        for name in self._below[owner]:
            declared = self._declared(name, subject)
            if declared is not None and self._next_above(name, subject) == owner:
                limit -= declared
        members = [name for name in (owner, *self._below[owner]) if self._owner(name, subject) == owner]
        return Pool(owner, subject, max(0, limit), tuple(sorted(members)))

    def _declared(self, namespace: str, subject: str) -> int | None:
        """Give the smallest limit the namespace itself sets."""
        limits = self._limits[namespace].values()
        return min((found[subject] for found in limits if subject in found), default=None)

    def _owner(self, namespace: str, subject: str) -> str | None:
        """Give the nearest namespace that sets a limit: itself, else the deepest ancestor that does."""
        if self._declared(namespace, subject) is not None:
            return namespace
        return self._next_above(namespace, subject)

    def _next_above(self, namespace: str, subject: str) -> str | None:
        above = sorted(self.ancestors.get(namespace, ()), key=lambda name: -len(self.ancestors.get(name, ())))
        return next((name for name in above if self._declared(name, subject) is not None), None)
