"""Could what was admitted have fitted at any moment of the call?

Units that were sold are judged where they are bound. Here it is about what is admitted and is bound nowhere: dry runs, orders that no
node can ever serve, more orders than there are units. The judgement leans to the side of the controller: everything counts as it
was best since somebody may have looked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.oversell.facts import Key
from bench.oversell.findings import Findings, Wrong
from bench.oversell.model import Model, Pool
from bench.oversell.past import Past
from bench.oversell.recently import Recently

if TYPE_CHECKING:
    from bench.oversell.checker import Order

_LAG_SECONDS: Final = 2.0
"""How late the checker may be told of what had been released when a dry run was answered."""


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
