"""Tenants that order and release without a pause, and a witness who adds up what is held after every event.

What was admitted is never lost: the witness sees each claim whose create was answered with yes.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field

from gpu.conditions import condition_of
from gpu.resources import GPUClaim
from kube.errors import Denied, KubeError, NotFound
from kube.kinds import GPU_CLAIMS
from kube.watching import EventType, watch
from tests.controller.cluster import TENANT, Cluster

FITS_NOT = {"NoCapacity", "NoNodeFits"}


@dataclass
class Market:
    """``allocatable``: units of each node, which do not change meanwhile."""

    cluster: Cluster
    allocatable: dict[str, int]
    answers: Counter[str] = field(default_factory=Counter)
    retry_after: list[int | None] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    witnessed: int = 0
    """Claims as they were at some time, each added up with the others."""
    _admitted: set[str] = field(default_factory=set)
    _released: set[str] = field(default_factory=set)
    _claims: dict[str, GPUClaim] = field(default_factory=dict)
    _is_closed: bool = False

    async def trade(self, clients: int = 8) -> None:
        """Order and release until closed."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(clients):
                tasks.create_task(self._client(number, random.Random(number)))  # noqa: S311  # repeatable

    def close(self) -> None:
        self._is_closed = True

    async def witness(self) -> None:
        """Add up after each event, for ever."""
        async with aclosing(watch(self.cluster.gateway, GPU_CLAIMS)) as events:
            async for event in events:
                if event.type is EventType.DELETED:
                    self._claims.pop(event.name, None)
                elif event.object is not None:
                    self._claims[event.name] = event.object
                    self._add_up()
                    self.witnessed += 1

    async def settled(self) -> None:
        """Wait until every claim is bound or known to wait, and check that nothing admitted is missing."""
        async with asyncio.timeout(30):
            while True:
                there = await self.cluster.claims()
                if all(
                    claim.status.node_name or condition_of(claim.status.conditions, "Bound")
                    for claim in there.values()
                ):
                    break
                await asyncio.sleep(0.05)
        missing = self._admitted - self._released - there.keys()
        assert not missing, f"admitted and not there: {missing}"
        self._claims = there
        self._add_up()
        assert self.violations == []

    async def until_answered(self, answer: str, *, seconds: float = 30.0) -> None:
        """Wait for one more answer of this kind."""
        before = self.answers[answer]
        async with asyncio.timeout(seconds):
            while self.answers[answer] == before:
                await asyncio.sleep(0.01)

    def _add_up(self) -> None:
        held: Counter[str] = Counter()
        for claim in self._claims.values():
            if claim.status.node_name:
                held[claim.status.node_name] += claim.spec.count
        over = {node: units for node, units in held.items() if units > self.allocatable.get(node, 0)}
        if over:
            self.violations.append(f"oversold: {over}")
        if sum(claim.spec.count for claim in self._claims.values()) > sum(self.allocatable.values()):
            self.violations.append("more admitted than there is")

    async def _client(self, number: int, random_: random.Random) -> None:
        held: list[str] = []
        attempt = 0
        while not self._is_closed:
            attempt += 1
            name = f"o-{number}-{attempt}"
            try:
                await self.cluster.order(name, random_.randint(1, 3))
            except Denied as refused:
                self.answers[refused.reason] += 1
                is_full = refused.reason in FITS_NOT
                if not is_full:
                    self.retry_after.append(refused.retry_after_seconds)
                    await asyncio.sleep(0.05)
            except KubeError as error:
                is_full = False
                self.answers[type(error).__name__] += 1
                await asyncio.sleep(0.05)
            else:
                is_full = False
                self.answers["admitted"] += 1
                self._admitted.add(name)
                held.append(name)
            if held and (is_full or len(held) > 2):
                await self._release(held.pop(random_.randrange(len(held))))

    async def _release(self, name: str) -> None:
        self._released.add(name)
        try:
            await self.cluster.gateway.delete(GPU_CLAIMS, name, namespace=TENANT)
        except NotFound:
            self.violations.append(f"{name} was lost")
