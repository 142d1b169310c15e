"""Could what was admitted have fitted at any moment of the call?

Units that were sold are judged where they are bound. Here it is about what is admitted and is bound nowhere: dry runs, orders that no
node can ever serve, more orders than there are units. The judgement leans to the side of the controller: everything counts as it
was best since somebody may have looked.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.oversell.facts import ClassFacts, Key, NodeFacts
from bench.oversell.findings import Findings, Wrong
from bench.oversell.model import Model, Pool
from bench.oversell.past import Past

if TYPE_CHECKING:
    from bench.oversell.checker import Order

_LAG_SECONDS: Final = 2.0
"""How late the checker may be told of what had been released when a dry run was answered."""


class Recently:
    """Nodes, offers and limits, with what they were a moment ago."""

    def __init__(self, model: Model, *, seconds: float) -> None:
        self._model = model
        self._units: Past[tuple[str, str], int] = Past(seconds)
        self._classes: Past[str, ClassFacts] = Past(seconds)
        self._limits: Past[tuple[str, str], int] = Past(seconds)
        self._node_changed_at: defaultdict[str, float] = defaultdict(lambda: float("-inf"))

    def node_changes(self, old: NodeFacts | None, name: str, *, at: float) -> None:
        """Remember a node as it was."""
        self._node_changed_at[name] = at
        for resource, units in (old.allocatable if old is not None else {}).items():
            self._units.keep((name, resource), units, at=at)

    def class_changes(self, old: ClassFacts, *, at: float) -> None:
        """Remember an offer as it was."""
        self._classes.keep(old.name, old, at=at)

    def limit_changes(self, pool: Pool, *, at: float) -> None:
        """Remember a pool's limit as it was."""
        self._limits.keep((pool.owner, pool.subject), pool.limit, at=at)

    def units(self, node: str, resource: str, *, at: float, since: float) -> int:
        """Give the most that the node had of the resource since then."""
        known = self._model.nodes.get(node)
        now = known.allocatable.get(resource, 0) if known is not None else 0
        return max([now, *self._units.recent((node, resource), at=at, since=since)])

    def limit(self, pool: Pool, *, at: float, since: float) -> int:
        """Give the highest limit since then."""
        return max([pool.limit, *self._limits.recent((pool.owner, pool.subject), at=at, since=since)])

    def classes(self, name: str, *, at: float, since: float) -> list[ClassFacts]:
        """Give what the offer was since then; nothing when there was none of the name."""
        now = self._model.classes.get(name)
        before = self._classes.recent(name, at=at, since=since)
        return before if now is None else [now, *before]

    def serves(self, found: ClassFacts, node: str, *, since: float) -> bool:
        """Say whether the node may have served the class since then: it does, or was changed."""
        known = self._model.nodes.get(node)
        return self._node_changed_at[node] >= since or (known is not None and found.is_served_by(known))


@dataclass(frozen=True)
class _DryRun:
    order: Order
    asked_at: float
    since: float
    used: dict[Pool, int]
    closes_at: float


class AdmissionJudge:
    def __init__(
        self,
        model: Model,
        recently: Recently,
        findings: Findings,
        left_pool: Past[tuple[str, str], int],
    ) -> None:
        self._model = model
        self._recently = recently
        self._findings = findings
        self._left_pool = left_pool
        self._used: dict[Key, dict[Pool, int]] = {}
        self._dry_runs: deque[_DryRun] = deque()

    def asked(self, order: Order) -> None:
        if order.dry_run:
            pools = self._model.pools(order.key[0], order.class_name)
            self._used[order.key] = {pool: self._model.used(pool) for pool in pools}

    def ended(self, order: Order) -> None:
        self._used.pop(order.key, None)

    def admitted(self, order: Order, *, asked_at: float, since: float, at: float) -> None:
        """Judge an order by itself: whatever else is held, it has to suit its offer and one node."""
        why = self._why_never(order, since=since, at=at)
        if why is not None:
            self._findings.add(
                Wrong.OVERSOLD, f"{order.key} for {order.count} of {order.class_name} was admitted: {why}"
            )
        if order.dry_run:
            used = self._used.get(order.key, {})
            self._dry_runs.append(_DryRun(order, asked_at, since, used, at + _LAG_SECONDS))

    def close(self, *, at: float) -> None:
        """Judge dry runs by their budgets, once everything must have been told that was released before."""
        while self._dry_runs and self._dry_runs[0].closes_at <= at:
            run = self._dry_runs.popleft()
            for pool, used in run.used.items():
                released = sum(self._left_pool.recent((pool.owner, pool.subject), at=at, since=run.asked_at))
                # Told from before the call until after it: the limit may have been raised in between.
                now = self._model.pool(run.order.key[0], pool.subject)
                limit = max(
                    self._recently.limit(known, at=at, since=run.since)
                    for known in (pool, now)
                    if known is not None
                )
                if used - released + run.order.count > limit:
                    self._findings.add(
                        Wrong.OVERRUN,
                        f"{run.order.key} for {run.order.count} was admitted as a dry run; {pool.owner} may use {limit} of "
                        f"{pool.subject}, {used} were used",
                    )

    def stored(self, key: Key, resource: str, *, since: float, at: float) -> None:
        """Judge all orders together that have no node yet: there has to be room for them."""
        model = self._model
        waiting = sum(
            model.claims[key].count
            for key in model.unbound
            if model.resource_of(model.claims[key].class_name) == resource
        )
        room = sum(self._rooms(resource, since=since, at=at))
        if waiting > room:
            self._findings.add(
                Wrong.OVERSOLD,
                f"{waiting} of {resource} have no node yet and there is room for {room}: {key}",
            )

    def _rooms(self, resource: str, *, since: float, at: float) -> Iterator[int]:
        for node in self._model.with_resource(resource):
            had = self._recently.units(node, resource, at=at, since=since)
            yield max(0, had - self._model.held(node, resource))

    def _why_never(self, order: Order, *, since: float, at: float) -> str | None:
        classes = self._recently.classes(order.class_name, at=at, since=since)
        if not classes:
            return "there is no such offer"
        if all(found.max_count is not None and order.count > found.max_count for found in classes):
            return f"an order may be of {classes[0].max_count}"
        most = max(
            (
                self._recently.units(node, found.resource, at=at, since=since)
                for found in classes
                for node in self._model.with_resource(found.resource)
                if self._recently.serves(found, node, since=since)
            ),
            default=0,
        )
        return None if order.count <= most else f"the best node has {most}"
