"""Tenants that order and release."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from bench.oversell import plan as cluster
from bench.oversell.checker import Checker, Order
from bench.oversell.clients import Clients
from bench.oversell.facts import Key
from bench.oversell.figures import Figures
from bench.oversell.plan import Plan
from kube.aio import AsyncGateway
from kube.errors import AdmissionUnavailable, AlreadyExists, Denied, NotFound, Unavailable
from kube.kinds import GPU_CLAIMS

_COUNTS: Final = (1, 1, 1, 1, 1, 1, 2, 2, 2, 4, 8)
_TRY_AGAIN_SECONDS: Final = 0.5
ADMITTED: Final = "admitted"
ADMITTED_DRY: Final = "admitted as dry run"
REFUSED: Final = "refused"


@dataclass(frozen=True)
class Mix:
    """Shares of all orders. ``impossible`` cannot fit whatever is free."""

    impossible: float = 0.30
    dry_run: float = 0.10
    in_sets: float = 0.05
    same_name: float = 0.005


class Tenants:
    """Order what they like, hold it for a while, give it back."""

    def __init__(
        self,
        gateway: AsyncGateway,
        checker: Checker,
        clients: Clients,
        figures: Figures,
        *,
        plan: Plan,
        random: Random,
        life_seconds: float,
        mix: Mix | None = None,
    ) -> None:
        self._gateway = gateway
        self._checker = checker
        self._clients = clients
        self._figures = figures
        self._random = random
        self._life_seconds = life_seconds
        self._mix = mix or Mix()
        self._namespaces = plan.free_namespaces()
        self._forbidden = plan.forbidden_namespaces()
        self._classes = cluster.class_names()
        self._weights = [1 / (rank + 2) for rank in range(len(self._classes))]
        self._numbers = itertools.count()
        self._is_keeping = False
        self._due: dict[Key, tuple[float, str]] = {}
        self._doubtful: set[Key] = set()  # perhaps there, perhaps not: deleted until the server says which
        self.orders = 0
        """All that were sent."""
        self.arrived = 0
        """Those that came by the timetable."""
        self.outcomes: Counter[str] = Counter()
        checker.on_bound = self._bound

    async def order(self, due_at: float) -> None:
        """Order something and see what comes of it."""
        order = self._choose()
        self.arrived += 1
        if await self.place(order, order.key[1], due_at=due_at) == ADMITTED:
            seconds = self._random.expovariate(1 / self._life_seconds)
            self._release_later(order.key, seconds=seconds)

    async def order_again(self, due_at: float) -> None:
        """Order under a name that is taken for good: admitted, perhaps, and never stored."""
        self.arrived += 1
        taken = Order((self._namespaces[0], "kept"), self._classes[-1])
        if taken.key in self._checker.alive:
            order = Order((taken.key[0], self._name("again")), self._choose_class())
            await self.place(order, taken.key[1], due_at=due_at)
        elif not self._is_keeping:
            self._is_keeping = True
            await self.place(taken, taken.key[1], due_at=due_at)

    async def place(self, order: Order, name: str, *, due_at: float, phase: str = "") -> str:
        """Send the order under the name; give what came of it. ``phase`` begins the names of its figures."""
        self.orders += 1
        spec: dict[str, Any] = {"className": order.class_name, "count": order.count}
        if order.set_name:
            spec["setName"] = order.set_name
        body = {"metadata": {"name": name}, "spec": spec}
        self._due[order.key] = due_at, phase
        sent_at = time.monotonic()
        self._checker.asked(order, at=sent_at)
        try:
            read = await self._gateway.create(GPU_CLAIMS, body, namespace=order.key[0], dry_run=order.dry_run)
        except Denied as denied:
            outcome = REFUSED
            at = self._answered(outcome, order, phase=phase, due_at=due_at, sent_at=sent_at)
            self.outcomes[denied.reason] += 1
            self._checker.refused(order, denied.reason, at=at)
        except (AlreadyExists, Unavailable) as error:
            outcome = type(error).__name__
            at = self._answered(outcome, order, phase=phase, due_at=due_at, sent_at=sent_at)
            if isinstance(error, AlreadyExists):
                self._checker.not_stored(order, at=at)
                return outcome
            # Who lost the line or the patience does not know what the controller would have said.
            is_controllers = isinstance(error, AdmissionUnavailable)
            self._checker.unanswered(order, str(error) if is_controllers else None, at=at)
            if not order.dry_run:
                self._doubtful.add(order.key)
                self._release_later(order.key, seconds=_TRY_AGAIN_SECONDS)
        else:
            outcome = ADMITTED_DRY if order.dry_run else ADMITTED
            at = self._answered(outcome, order, phase=phase, due_at=due_at, sent_at=sent_at)
            self._checker.created(order, read.object.metadata.uid, at=at)
        return outcome

    async def release(self, key: Key) -> None:
        self._checker.leaves(key)
        try:
            await self._gateway.delete(GPU_CLAIMS, key[1], namespace=key[0])
        except NotFound:
            self._checker.never_was(key)
        except Unavailable:
            self._doubtful.add(key)
            self._release_later(key, seconds=_TRY_AGAIN_SECONDS)
            return
        self._doubtful.discard(key)

    async def end(self) -> None:
        """Delete whatever is there perhaps, until the server says that it is not."""
        while self._doubtful:
            for key in list(self._doubtful):
                await self.release(key)

    def _release_later(self, key: Key, *, seconds: float) -> None:
        async def release(due_at: float) -> None:
            if key in self._checker.alive or key in self._doubtful:
                await self.release(key)

        self._clients.at(time.monotonic() + seconds, release)

    def _answered(self, outcome: str, order: Order, *, phase: str, due_at: float, sent_at: float) -> float:
        at = time.monotonic()
        self._figures.add(phase + outcome, at - due_at)
        self._figures.add(f"{phase}{outcome}, from sending", at - sent_at)
        self.outcomes[outcome] += 1
        if outcome != ADMITTED:
            self._due.pop(order.key, None)
        return at

    def _bound(self, key: Key, at: float) -> None:
        due = self._due.pop(key, None)
        if due is not None:
            due_at, phase = due
            self._figures.add(phase + "bound", at - due_at)

    def _choose(self) -> Order:
        chance = self._random.random
        namespace, class_name = self._random.choice(self._namespaces), self._choose_class()
        count, set_name = self._random.choice(_COUNTS), None
        if class_name.startswith("part-"):
            count = min(count, 2)
        if chance() < self._mix.impossible:
            namespace, class_name, count = self._impossible(namespace, class_name)
        elif chance() < self._mix.in_sets:
            # Few names, so that the members of a set meet.
            set_name = f"vm-{self._random.randrange(3)}"
            namespace = self._namespaces[self._random.randrange(20)]
        is_dry = chance() < self._mix.dry_run
        return Order((namespace, self._name("o")), class_name, count, set_name, is_dry)

    def _impossible(self, namespace: str, class_name: str) -> tuple[str, str, int]:
        match self._random.randrange(4):
            case 0:
                return namespace, class_name, cluster.LARGEST + self._random.randint(1, 8)
            case 1:
                return namespace, "no-such-offer", 1
            case 2:
                return namespace, "part-1", 3
            case _:
                return self._random.choice(self._forbidden), class_name, 1

    def _choose_class(self) -> str:
        return self._random.choices(self._classes, self._weights)[0]

    def _name(self, prefix: str) -> str:
        return f"{prefix}-{next(self._numbers)}"
