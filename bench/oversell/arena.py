"""Everything of one run together: a cluster filled by plan, a controller process, the checker at the watch, and the clients."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol

from bench.oversell.agreement import settle
from bench.oversell.checker import Checker
from bench.oversell.clients import Clients
from bench.oversell.feed import Feed
from bench.oversell.figures import Figures
from bench.oversell.load import Mix, Tenants
from bench.oversell.plan import Plan, build
from bench.oversell.unrest import LastOfBudget, LastUnit, Unrest
from kube import config
from kube.aio import AsyncGateway
from kube.kinds import GPU_NODES
from kube.watching import watch
from tests.controller.processes import RunningController, start_controller

RESERVATION_SECONDS = 30.0
"""The controller's default. It is longer than a dead watch goes unnoticed, which is what it has to be."""
AGREE_SECONDS = 10.0


class Server(Protocol):
    @property
    def kubeconfig(self) -> Path: ...


@dataclass(frozen=True)
class Settings:
    """``rate`` is of orders a second; the rates of everything else follow from it."""

    rate: float
    life_seconds: float = 40.0
    sight_seconds: float = 2.0
    race_seconds: float = 10.0
    seed: int = 1
    plan: Plan = field(default_factory=Plan)
    mix: Mix = field(default_factory=Mix)


@dataclass
class Arena:
    settings: Settings
    gateway: AsyncGateway
    checker: Checker
    clients: Clients
    tenants: Tenants
    unrest: Unrest
    last_unit: LastUnit
    last_of_budget: LastOfBudget
    figures: Figures
    feed: Feed

    async def load(self, seconds: float, *, orders: int = 0) -> tuple[float, int]:
        """Let the load run for so long, or until there were so many orders.

        Give the seconds it took, and how many orders of the timetable had been begun by then; those that were due follow.
        """
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        self.clients.open()
        if orders:
            while self.tenants.orders < orders or loop.time() - started_at < seconds:
                await asyncio.sleep(0.5)
        else:
            await asyncio.sleep(seconds)
        took, begun = loop.time() - started_at, self.tenants.arrived
        await self.clients.close()
        return took, begun

    async def rest(self, *, seconds: float = AGREE_SECONDS) -> float | None:
        """Put everything back and wait until all agree; what does not is a finding."""
        await self.unrest.end()
        await self.tenants.end()
        return await settle(self.checker, seconds=seconds)

    async def empty(self) -> float | None:
        """Give everything back and wait until nothing is held or promised any more; what is left is a leak.

        Orders that were admitted and never stored are promised until their reservations run out.
        """
        held = iter([*self.checker.alive])

        async def work() -> None:
            for key in held:
                await self.tenants.release(key)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(16):
                tasks.create_task(work())
        while self.checker.refusals.ghosts(at=time.monotonic()):
            await asyncio.sleep(0.5)
        return await settle(self.checker, seconds=AGREE_SECONDS)


@asynccontextmanager
async def arena(server: Server, settings: Settings) -> AsyncIterator[Arena]:
    """Set up on a filled server; whoever uses it starts a controller."""
    found = config.load(server.kubeconfig)
    random = Random(settings.seed)  # a load to repeat, no secret
    async with AsyncGateway.connect(found, pool_size=256) as gateway, asyncio.TaskGroup() as tasks:
        figures = Figures()
        checker = Checker(sight_seconds=settings.sight_seconds, ghost_seconds=RESERVATION_SECONDS + 3)
        clients = Clients(random=random)
        tenants = Tenants(
            gateway,
            checker,
            clients,
            figures,
            plan=settings.plan,
            random=random,
            life_seconds=settings.life_seconds,
            mix=settings.mix,
        )
        unrest = Unrest(gateway, checker, clients, plan=settings.plan, random=random)
        last_unit = LastUnit(tenants, checker, plan=settings.plan)
        last_of_budget = LastOfBudget(tenants, checker, plan=settings.plan)
        clients.arrivals(settings.rate * (1 - settings.mix.same_name), tenants.order)
        clients.arrivals(settings.rate * settings.mix.same_name, tenants.order_again)
        for change in (unrest.cordon, unrest.devices, unrest.offer, unrest.budget):
            clients.arrivals(settings.rate / 100, change)
        if settings.race_seconds:
            for kind in (last_unit, last_of_budget):
                clients.arrivals(1 / settings.race_seconds, kind.race)
        feed = Feed(found, checker.take)
        running = [tasks.create_task(feed.run()), tasks.create_task(clients.run())]
        await feed.until_complete()
        yield Arena(
            settings, gateway, checker, clients, tenants, unrest, last_unit, last_of_budget, figures, feed
        )
        for task in running:
            task.cancel()


async def fill(server: Server, plan: Plan) -> None:
    """Make nodes, offers, tenants and budgets."""
    async with AsyncGateway.connect(config.load(server.kubeconfig)) as gateway:
        await build(gateway, plan)


async def start_and_publish(
    server: Server, folder: Path, plan: Plan, *, way: Server | None = None
) -> RunningController:
    """Start a controller and wait until it has written down every node: work of its first start, not of orders.

    ``way``: how it reaches the server, where that is not the usual one.
    """
    controller = await asyncio.to_thread(
        start_controller,
        way or server,
        folder,
        f"--reservation-seconds={RESERVATION_SECONDS}",
        "--webhook-timeout=5",  # as in production: on a busy machine an answer may take a second
    )
    published: set[str] = set()
    async with (
        AsyncGateway.connect(config.load(server.kubeconfig)) as gateway,
        aclosing(watch(gateway, GPU_NODES)) as events,
    ):
        async for event in events:
            if event.object is not None and event.object.status.resources:
                published.add(event.name)
            if len(published) == plan.nodes:
                break
    return controller
