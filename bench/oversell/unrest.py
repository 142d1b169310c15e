"""Everybody else: the hoster edits offers and budgets, nodes are cordoned, devices come and go. All of it is put back."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Final

from bench.oversell import plan as cluster
from bench.oversell.checker import Checker, Order
from bench.oversell.clients import Clients
from bench.oversell.findings import Wrong
from bench.oversell.load import ADMITTED, REFUSED, Tenants
from bench.oversell.plan import Plan
from kube.aio import AsyncGateway
from kube.errors import Unavailable
from kube.kinds import GPU_CLASSES, NODES, RESOURCE_QUOTAS

BUYERS: Final = 200
BUDGET_BUYERS: Final = 50
RACE: Final = "race: "
_BACK_AFTER_SECONDS: Final = (1.0, 8.0)
"""Longer, mostly, than the controller may be behind: who never sees a change is found out."""
_TRY_AGAIN_SECONDS: Final = 0.5

Write = Callable[[], Awaitable[object]]


class Unrest:
    """Changes something and later changes it back."""

    def __init__(
        self, gateway: AsyncGateway, checker: Checker, clients: Clients, *, plan: Plan, random: Random
    ) -> None:
        self._gateway = gateway
        self._checker = checker
        self._clients = clients
        self._plan = plan
        self._random = random
        self._back: dict[str, Write] = {}
        self.changes = 0

    async def cordon(self, due_at: float) -> None:
        """Cordon a node for a while."""
        name = self._some_node()

        def write(unschedulable: bool) -> Awaitable[object]:
            return self._gateway.patch(NODES, name, {"spec": {"unschedulable": unschedulable}})

        await self._change(f"cordon {name}", lambda: write(True), lambda: write(False))

    async def devices(self, due_at: float) -> None:
        """Take devices of a node away for a while."""
        name = self._some_node()
        found = self._checker.model.nodes.get(name)
        if found is None:
            return
        (resource, units), *_ = found.allocatable.items()

        def write(left: int) -> Awaitable[object]:
            status = {"allocatable": {resource: str(left)}}
            return self._gateway.patch(NODES, name, {"status": status}, subresource="status")

        left = self._random.randrange(units) if units else 0
        await self._change(f"devices of {name}", lambda: write(left), lambda: write(units))

    async def offer(self, due_at: float) -> None:
        """Edit what a class says or whom it chooses."""
        kind = self._random.randrange(cluster.KINDS)
        name = f"part-{kind}"
        edits: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
            ({"displayName": "Spring sale"}, {"displayName": None}),
            ({"maxCount": 1}, {"maxCount": 2}),
            (
                {"nodeSelector": {"pool": "b"}},
                {"nodeSelector": {"pool": "a"} if kind % 2 else None},
            ),
        )
        there, back = self._random.choice(edits)
        await self._change(
            f"offer {name}",
            lambda: self._gateway.patch(GPU_CLASSES, name, {"spec": there}),
            lambda: self._gateway.patch(GPU_CLASSES, name, {"spec": back}),
        )

    async def budget(self, due_at: float) -> None:
        """Halve a budget for a while, below its use perhaps."""
        group = self._random.randrange((self._plan.groups + 1) // 2) * 2
        spelling = ("", "requests.", "limits.")[group % 3]
        name = cluster.parent(group)

        def write(limit: int) -> Awaitable[object]:
            hard = {f"{spelling}gpu.cozystack.io/total": str(limit)}
            return self._gateway.patch(RESOURCE_QUOTAS, "gpus", {"spec": {"hard": hard}}, namespace=name)

        limit = cluster.TOTAL_LIMIT
        await self._change(f"budget {name}", lambda: write(limit // 2), lambda: write(limit))

    async def end(self) -> None:
        """Change everything back that is not yet."""
        for name in list(self._back):
            await self._change_back(name)

    def _some_node(self) -> str:
        return f"node-{self._random.randrange(self._plan.nodes - 1)}"

    async def _change(self, name: str, there: Write, back: Write) -> None:
        if name in self._back:
            return
        self._back[name] = back
        self.changes += 1
        await _persistently(there)

        async def change_back(due_at: float) -> None:
            await self._change_back(name)

        self._clients.at(time.monotonic() + self._random.uniform(*_BACK_AFTER_SECONDS), change_back)

    async def _change_back(self, name: str) -> None:
        back = self._back.get(name)
        if back is not None:
            await _persistently(back)
            self._back.pop(name, None)


async def _persistently(write: Write) -> None:
    while True:
        try:
            await write()
        except Unavailable:
            await asyncio.sleep(_TRY_AGAIN_SECONDS)
        else:
            return


class Race:
    """One unit, and very many who want it at the same moment. Races of a kind never overlap."""

    def __init__(self, tenants: Tenants, checker: Checker) -> None:
        self._tenants = tenants
        self._checker = checker
        self._numbers = itertools.count()
        self._is_running = False
        self.races = 0
        self.sold = 0

    async def race(self, due_at: float) -> None:
        """Hold one race; give the unit back."""
        if self._is_running:
            return
        self._is_running = True
        try:
            await self._race(self._orders(next(self._numbers)), due_at)
        finally:
            self._is_running = False

    def _orders(self, number: int) -> list[Order]:
        raise NotImplementedError

    def _too_many(self) -> Wrong:
        raise NotImplementedError

    def _may_be_refused(self, order: Order, *, at: float) -> bool:
        """Say whether there may be nothing to win."""
        raise NotImplementedError

    async def _race(self, orders: list[Order], due_at: float) -> None:
        may_be_refused = self._may_be_refused(orders[0], at=due_at)
        outcomes = await asyncio.gather(
            *(self._tenants.place(order, order.key[1], due_at=due_at, phase=RACE) for order in orders)
        )
        won = [outcome == ADMITTED for outcome in outcomes]
        self.races += 1
        self.sold += sum(won)
        words = f"of {len(orders)} for {orders[0].class_name} got the last unit"
        if sum(won) > 1:
            self._checker.findings.add(self._too_many(), f"{sum(won)} {words}")
        if set(outcomes) == {REFUSED} and not may_be_refused:
            self._checker.findings.add(Wrong.REFUSED, f"none {words}")
        for order, has_won in zip(orders, won, strict=True):
            if has_won:
                await self._tenants.release(order.key)


class LastUnit(Race):
    """200 tenants want the only unit of its kind."""

    def __init__(self, tenants: Tenants, checker: Checker, *, plan: Plan) -> None:
        super().__init__(tenants, checker)
        self._namespaces = plan.free_namespaces()

    def _orders(self, number: int) -> list[Order]:
        namespaces = itertools.islice(itertools.cycle(self._namespaces), number * 7, number * 7 + BUYERS)
        return [
            Order((namespace, f"last-{number}-{buyer}"), cluster.LAST)
            for buyer, namespace in enumerate(namespaces)
        ]

    def _too_many(self) -> Wrong:
        return Wrong.OVERSOLD

    def _may_be_refused(self, order: Order, *, at: float) -> bool:
        refusals = self._checker.refusals
        promised = any(ghost.class_name == cluster.LAST for ghost in refusals.ghosts(at=at))
        return promised or refusals.tolerates_unknown


class LastOfBudget(Race):
    """50 orders of four tenants, and their parent's budget has room for one."""

    def __init__(self, tenants: Tenants, checker: Checker, *, plan: Plan) -> None:
        super().__init__(tenants, checker)
        self._namespaces = plan.racers()

    def _orders(self, number: int) -> list[Order]:
        namespaces = itertools.islice(itertools.cycle(self._namespaces), BUDGET_BUYERS)
        return [
            Order((namespace, f"budget-{number}-{buyer}"), f"whole-{cluster.KINDS - 1}")
            for buyer, namespace in enumerate(namespaces)
        ]

    def _too_many(self) -> Wrong:
        return Wrong.OVERRUN

    def _may_be_refused(self, order: Order, *, at: float) -> bool:
        refusals, model = self._checker.refusals, self._checker.model
        promised = any(ghost.namespace in self._namespaces for ghost in refusals.ghosts(at=at))
        # Units are bought all the time: only plenty of them is enough for sure.
        free, _ = model.free(model.classes[order.class_name])
        return promised or refusals.tolerates_unknown or free < BUDGET_BUYERS
