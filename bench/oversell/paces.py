"""Orders until they are bound, pods until kube-scheduler has bound them, and the floor under both: the same two writes without anybody.

All by the same client with the same watch, while the checker is away, in three ways: one at a time; sixteen clients of which each
waits until its own is bound; a burst from sixteen clients that send the next as soon as the last was answered.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from bench.oversell import plan as cluster
from bench.oversell.figures import Figures
from kube.aio import AsyncGateway
from kube.errors import Denied
from kube.kinds import GPU_CLAIMS, PODS, AnyKind
from kube.watching import EventType, watch

TENANT: Final = cluster.parent(1)  # has no budget
BURST_CLIENTS: Final = 16
REST_SECONDS: Final = 2.0
"""After everything was deleted, so that what follows from that is not counted to the next."""
ALONE: Final = "one at a time: "
WAITING: Final = "16 clients: "
BURST: Final = "burst of 16 clients: "
FLOOR: Final = "create + status patch without us"
ORDERS: Final = "order"
PODS_OF_SCHEDULER: Final = "pod of kube-scheduler"
REFUSED: Final = "order refused"
_numbers = itertools.count()


Work = Callable[[str], Awaitable[Awaitable[object] | None]]
"""Sends one, for figures that begin so; gives what to wait for until all is done."""


@dataclass(frozen=True)
class Pace:
    """How many of each are made."""

    alone: int
    waiting: int
    burst: int

    async def of(self, work: Work) -> tuple[float, float]:
        """Do the work in the three ways; give how often it was done a second by sixteen waiting clients, and in the burst."""

        async def to_the_end(phase: str) -> None:
            rest = await work(phase)
            if rest is not None:
                await rest

        await _paced(lambda: to_the_end(ALONE), count=self.alone, clients=1)
        waiting = await _paced(lambda: to_the_end(WAITING), count=self.waiting, clients=BURST_CLIENTS)
        rests: list[Awaitable[object] | None] = []

        async def sent(phase: str) -> None:
            rests.append(await work(phase))

        started_at = time.perf_counter()
        await _paced(lambda: sent(BURST), count=self.burst, clients=BURST_CLIENTS)
        for rest in rests:
            if rest is not None:
                await rest
        return waiting, len(rests) / (time.perf_counter() - started_at)


async def floor(gateway: AsyncGateway, figures: Figures, pace: Pace) -> tuple[float, float]:
    """Create and patch claims while no webhook is installed; give the pairs a second. Leaves nothing behind."""
    names: list[str] = []

    async def write(phase: str) -> None:
        claim = _name(names)
        started_at = time.perf_counter()
        body: dict[str, Any] = {"metadata": {"name": claim}, "spec": {"className": "no-such-offer"}}
        created = await gateway.create(GPU_CLAIMS, body, namespace=TENANT)
        figures.add(f"{phase}{FLOOR}: create", time.perf_counter() - started_at)
        status = {
            "metadata": {"resourceVersion": created.object.metadata.resource_version},
            "status": {"nodeName": "node-0", "boundAt": "2026-01-01T00:00:00Z"},
        }
        await gateway.patch(GPU_CLAIMS, claim, status, namespace=TENANT, subresource="status")
        figures.add(f"{phase}{FLOOR}: both", time.perf_counter() - started_at)

    rates = await pace.of(write)
    await _delete(gateway, GPU_CLAIMS, names)
    return rates


async def orders(gateway: AsyncGateway, figures: Figures, pace: Pace) -> tuple[float, float]:
    """Order one unit and see it bound; give the bound orders a second. Leaves nothing behind."""
    classes = itertools.cycle(f"whole-{kind}" for kind in range(cluster.KINDS))
    async with _bound(gateway, GPU_CLAIMS, lambda claim: bool(claim.status.node_name)) as bind:
        return await pace.of(
            lambda phase: bind(figures, f"{phase}{ORDERS}", {"spec": {"className": next(classes)}})
        )


async def pods(gateway: AsyncGateway, figures: Figures, pace: Pace) -> tuple[float, float]:
    """Let kube-scheduler bind pods with one GPU each; give the bound pods a second. Leaves nothing behind."""
    kinds = itertools.cycle(range(cluster.KINDS))

    def body() -> dict[str, Any]:
        units = {cluster.resource(next(kinds)): "1"}
        container = {"name": "gpu", "image": "none", "resources": {"requests": units, "limits": units}}
        return {"spec": {"containers": [container], "terminationGracePeriodSeconds": 0}}

    async with _bound(gateway, PODS, lambda pod: bool(pod.spec.node_name)) as bind:
        return await pace.of(lambda phase: bind(figures, f"{phase}{PODS_OF_SCHEDULER}", body()))


async def refusals(gateway: AsyncGateway, figures: Figures, pace: Pace) -> None:
    """Order more units than any node has."""

    async def order(phase: str) -> None:
        spec = {"className": "whole-0", "count": cluster.LARGEST + 1}
        started_at = time.perf_counter()
        try:
            await gateway.create(
                GPU_CLAIMS, {"metadata": {"name": "too-many"}, "spec": spec}, namespace=TENANT
            )
        except Denied:
            figures.add(f"{phase}{REFUSED}", time.perf_counter() - started_at)
        else:
            raise AssertionError("an order that fits no node was admitted")

    await pace.of(order)


Bind = Callable[[Figures, str, dict[str, Any]], Awaitable[Awaitable[object]]]


@asynccontextmanager
async def _bound(
    gateway: AsyncGateway, kind: AnyKind, is_bound: Callable[[Any], bool]
) -> AsyncIterator[Bind]:
    """Give what creates an object and waits until a watch shows it bound. Deletes all of them at the end."""
    names: list[str] = []
    bound: dict[str, asyncio.Future[float]] = {}
    is_listed = asyncio.Event()

    async def look() -> None:
        async with aclosing(watch(gateway, kind, namespace=TENANT)) as events:
            async for event in events:
                if event.type is EventType.LISTED:
                    is_listed.set()
                elif event.object is not None and is_bound(event.object):
                    future = bound.get(event.name)
                    if future is not None and not future.done():
                        future.set_result(time.perf_counter())

    async def bind(figures: Figures, title: str, body: dict[str, Any]) -> Awaitable[object]:
        name = _name(names)
        future = bound[name] = asyncio.get_running_loop().create_future()
        started_at = time.perf_counter()
        future.add_done_callback(lambda at: figures.add(f"{title}: bound", at.result() - started_at))
        await gateway.create(kind, {**body, "metadata": {"name": name}}, namespace=TENANT)
        figures.add(f"{title}: create", time.perf_counter() - started_at)
        return future

    looking = asyncio.create_task(look())
    await is_listed.wait()
    yield bind
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    await _delete(gateway, kind, names)


def _name(names: list[str]) -> str:
    names.append(f"pace-{next(_numbers)}")
    return names[-1]


async def _delete(gateway: AsyncGateway, kind: AnyKind, names: list[str]) -> None:
    for name in names:
        await gateway.delete(kind, name, namespace=TENANT)
    await asyncio.sleep(REST_SECONDS)


async def _paced(work: Callable[[], Awaitable[object]], *, count: int, clients: int) -> float:
    """Give the works a second."""
    started_at = time.perf_counter()

    async def client() -> None:
        for _ in range(count // clients):
            await work()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(clients):
            tasks.create_task(client())
    return count // clients * clients / (time.perf_counter() - started_at)
