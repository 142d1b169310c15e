"""A leader at work who knows what the test tells and no sooner: no watch runs, and the clock stands until it is moved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from controller.fenced import FencedGateway
from controller.leader import Leadership, LeaseTimes
from controller.options import Timings
from controller.rounds import SLOW_SECONDS, Rounds
from controller.world import WATCHED, World
from gpu.ledger import Ledger
from kube.aio import AsyncGateway
from kube.kinds import AnyKind
from kube.picture import Picture
from kube.watching import Event, EventType
from tests.builders import NOON

REST_SECONDS = 10.0


class Desk:
    """The real rounds, binder and world. ``reader`` is how the test reads for it, whatever happens to its own way."""

    def __init__(self, gateway: FencedGateway, reader: AsyncGateway, tasks: asyncio.TaskGroup) -> None:
        self.seconds = 0.0
        self.ledger = Ledger()
        self.world = World(
            self.ledger, stale_seconds=Timings.stale_seconds, on_event=self._on_event, clock=self._clock
        )
        self._reader = reader
        self._pictures = {kind.plural: Picture(kind) for kind in WATCHED}
        self._is_told_of_all = False
        self._rounds = Rounds(
            gateway,
            self.world,
            Timings(),
            tasks=tasks,
            now=lambda: NOON + timedelta(seconds=self.seconds),
            clock=self._clock,
        )

    @property
    def is_resting(self) -> bool:
        """True while no claim is looked at, or has to be once more."""
        return not len(self._rounds._claims)

    @property
    def is_done(self) -> bool:
        """True while there is nothing at all to look at."""
        rounds = self._rounds
        lanes = (rounds._claims, rounds._classes, rounds._quotas, rounds._gpu_nodes)
        return not sum(len(each) for each in lanes)

    @property
    def failures(self) -> int:
        """How often, in a row, it looked at a claim and could not write."""
        return sum(self._rounds._claims._attempts.values())

    async def learn(self, *kinds: AnyKind) -> None:
        """Tell it all there is of the kinds, or of every kind, and wait until it has done what it makes of that."""
        await self.hear(*kinds)
        await self.rest()

    async def hear(self, *kinds: AnyKind) -> None:
        """Tell it all there is of the kinds, or of every kind, and let it go on."""
        for kind in kinds or WATCHED:
            picture: Picture[Any] = self._pictures[kind.plural]
            picture.start_list()
            for event in picture.page(await self._reader.list(kind)):
                self.world.see(kind, event)
            for event in picture.end_list("1"):
                self.world.see(kind, event)

    def lose(self, *kinds: AnyKind) -> None:
        """Break the watches of the kinds."""
        for kind in kinds:
            self.world.see(kind, Event(EventType.DISCONNECTED))

    async def wait(self, seconds: float = SLOW_SECONDS) -> None:
        """Let the time pass, and wait until it has done what it makes of that."""
        self.seconds += seconds
        self._rounds.look_at_the_clock()
        await self.rest()

    async def rest(self) -> None:
        """Wait until no claim is looked at any more."""
        await until(lambda: self.is_resting)

    def _clock(self) -> float:
        return self.seconds

    def _on_event(self, kind: AnyKind, event: Event[Any]) -> None:
        if event.type is not EventType.LISTED:
            self._rounds.saw(kind, event)
        elif self.world.is_complete and not self._is_told_of_all:
            self._is_told_of_all = True
            self._rounds.look_at_everything()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(REST_SECONDS):
        while not holds():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def desk(reader: AsyncGateway, *, through: AsyncGateway | None = None) -> AsyncIterator[Desk]:
    """Lead on the reader's API server, until left. ``through``: another way to it, for the writes."""
    leadership = Leadership(
        reader, namespace="gpu-portal-system", identity="desk", times=LeaseTimes(3600, 3000)
    )
    await leadership.acquire()
    async with asyncio.TaskGroup() as tasks:
        leader = Desk(FencedGateway(through or reader, leadership), reader, tasks)
        yield leader
        await until(lambda: leader.is_done)  # a request that is cut short leaves a connection behind
