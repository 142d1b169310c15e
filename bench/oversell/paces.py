"""Orders at their own pace, one at a time and from sixteen clients, and the floor under them: the same two writes without us."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final

from bench.oversell import plan as cluster
from bench.oversell.arena import Arena
from bench.oversell.checker import Order
from bench.oversell.facts import Key
from bench.oversell.figures import Figures
from bench.oversell.load import ADMITTED
from kube.aio import AsyncGateway
from kube.kinds import GPU_CLAIMS, PODS
from kube.watching import EventType, watch

TENANT: Final = cluster.parent(1)  # has no budget
BURST_CLIENTS: Final = 16
ALONE: Final = "one at a time: "
BURST: Final = "16 clients: "
_numbers = itertools.count()


async def floor(gateway: AsyncGateway, figures: Figures, *, alone: int, burst: int) -> float:
    """Create and patch claims while no webhook is installed; give the pairs a second of the burst. Leaves nothing behind."""
    names: list[str] = []

    async def pair(name: str) -> Callable[[], Awaitable[None]]:
        async def write() -> None:
            claim = f"floor-{next(_numbers)}"
            names.append(claim)
            started_at = time.perf_counter()
            body: dict[str, Any] = {"metadata": {"name": claim}, "spec": {"className": "no-such-offer"}}
            created = await gateway.create(GPU_CLAIMS, body, namespace=TENANT)
            created_at = time.perf_counter()
            status = {
                "metadata": {"resourceVersion": created.object.metadata.resource_version},
                "status": {"nodeName": "node-0", "boundAt": "2026-01-01T00:00:00Z"},
            }
            await gateway.patch(GPU_CLAIMS, claim, status, namespace=TENANT, subresource="status")
            figures.add(f"{name}floor: create", created_at - started_at)
            figures.add(f"{name}floor: create + status patch", time.perf_counter() - started_at)

        return write

    await _paced(await pair(ALONE), count=alone, clients=1)
    seconds = await _paced(await pair(BURST), count=burst, clients=BURST_CLIENTS)
    for claim in names:
        await gateway.delete(GPU_CLAIMS, claim, namespace=TENANT)
    return burst / seconds


async def orders(arena: Arena, *, alone: int, burst: int) -> float:
    """Order, see it bound, be refused; give the bound orders a second of the burst. Leaves nothing behind."""
    classes = itertools.cycle(f"whole-{kind}" for kind in range(cluster.KINDS))
    bound: dict[Key, asyncio.Future[float]] = {}
    listener = arena.checker.on_bound

    def tell(key: Key, at: float) -> None:
        listener(key, at)
        if key in bound:
            bound[key].set_result(at)

    async def order(phase: str) -> None:
        placed = Order((TENANT, f"pace-{next(_numbers)}"), next(classes), 1)
        bound[placed.key] = asyncio.get_running_loop().create_future()
        outcome = await arena.tenants.place(placed, placed.key[1], due_at=time.monotonic(), phase=phase)
        if outcome != ADMITTED:
            raise AssertionError(f"an order in an empty cluster came to {outcome}")
        await bound[placed.key]

    async def refusal(phase: str) -> None:
        placed = Order((TENANT, f"pace-{next(_numbers)}"), next(classes), cluster.LARGEST + 1)
        await arena.tenants.place(placed, placed.key[1], due_at=time.monotonic(), phase=phase)

    arena.checker.on_bound = tell
    await _paced(lambda: order(ALONE), count=alone, clients=1)
    await _paced(lambda: refusal(ALONE), count=alone, clients=1)
    seconds = await _paced(lambda: order(BURST), count=burst, clients=BURST_CLIENTS)
    await _paced(lambda: refusal(BURST), count=burst, clients=BURST_CLIENTS)
    arena.checker.on_bound = listener
    await arena.empty()
    return burst / seconds


async def pods(gateway: AsyncGateway, figures: Figures, *, alone: int, burst: int) -> float:
    """Let kube-scheduler bind pods with one GPU each; give the bound pods a second of the burst. Leaves nothing behind."""
    kinds = itertools.cycle(range(cluster.KINDS))
    bound: dict[str, asyncio.Future[float]] = {}
    is_listed = asyncio.Event()

    async def look() -> None:
        async with aclosing(watch(gateway, PODS, namespace=TENANT)) as events:
            async for event in events:
                if event.type is EventType.LISTED:
                    is_listed.set()
                elif event.object is not None and event.object.spec.node_name:
                    future = bound.get(event.name)
                    if future is not None and not future.done():
                        future.set_result(time.monotonic())

    async def schedule(phase: str) -> None:
        name, units = f"pace-{next(_numbers)}", {cluster.resource(next(kinds)): "1"}
        container = {"name": "gpu", "image": "none", "resources": {"requests": units, "limits": units}}
        body = {
            "metadata": {"name": name},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
        }
        bound[name] = asyncio.get_running_loop().create_future()
        started_at = time.monotonic()
        await gateway.create(PODS, body, namespace=TENANT)
        figures.add(f"{phase}kube-scheduler: pod bound", await bound[name] - started_at)

    looking = asyncio.create_task(look())
    await is_listed.wait()
    await _paced(lambda: schedule(ALONE), count=alone, clients=1)
    seconds = await _paced(lambda: schedule(BURST), count=burst, clients=BURST_CLIENTS)
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    for name in bound:
        await gateway.delete(PODS, name, namespace=TENANT)
    return burst / seconds


async def _paced(work: Callable[[], Awaitable[None]], *, count: int, clients: int) -> float:
    started_at = time.monotonic()

    async def client() -> None:
        for _ in range(count // clients):
            await work()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(clients):
            tasks.create_task(client())
    return time.monotonic() - started_at
