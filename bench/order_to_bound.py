"""From order to bound, beside the floor: a raw create and a status patch of the same object by the same client.

    python -m bench.order_to_bound [--nodes 1000] [--alone 300] [--burst 1600] [--clients 16] [--rounds 5]

Two dev servers with the same nodes: one has a controller (a process of its own), the other none. The rounds take turns, so that
whatever else the machine does falls on both. Client, servers and controller share the processors; the servers write to SQLite
without fsync per write. Read the ratios, not the figures.

Order -> bound is measured by the client, from before the create is sent until its watch shows the claim with a node.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any

import psutil
import uvloop

from kube import config
from kube.aio import AsyncGateway
from kube.errors import Denied
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, GPU_NODES, NAMESPACES, NODES
from kube.watching import EventType, watch
from tests.controller.processes import start_controller
from tests.kube.servers import RunningServer, start_dev_server

TENANT = "tenant-bench"
RESOURCE = "nvidia.com/GPU"
UNITS_PER_NODE = 8


@dataclass
class Figures:
    """Seconds each took, and seconds they took together."""

    seconds: list[float] = field(default_factory=list)
    elapsed: float = 0.0

    @property
    def p50(self) -> float:
        return quantiles(self.seconds, n=100)[49] * 1000

    @property
    def p99(self) -> float:
        return quantiles(self.seconds, n=100)[98] * 1000

    @property
    def per_second(self) -> float:
        return len(self.seconds) / self.elapsed


class Orders:
    """Orders claims and sees them bound; every claim has a name of its own."""

    def __init__(self, gateway: AsyncGateway) -> None:
        self._gateway = gateway
        self._made = 0
        self._bound: dict[str, asyncio.Future[float]] = {}
        self.names: list[str] = []
        self.is_watching = asyncio.Event()

    async def watch(self) -> None:
        """Note when each claim is bound, for ever."""
        async with aclosing(watch(self._gateway, GPU_CLAIMS)) as events:
            async for event in events:
                if event.type is EventType.LISTED:
                    self.is_watching.set()
                elif event.object is not None and event.object.status.node_name:
                    future = self._bound.get(event.name)
                    if future is not None and not future.done():
                        future.set_result(time.perf_counter())

    def _body(self) -> dict[str, Any]:
        self._made += 1
        name = f"order-{self._made}"
        self.names.append(name)
        return {"metadata": {"name": name}, "spec": {"className": "gpu", "count": 1}}

    async def create_and_patch(self) -> float:
        """The floor: what the two writes cost when nobody decides anything. Give the seconds until the watch shows them."""
        body = self._body()
        name = body["metadata"]["name"]
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._bound[name] = future
        started_at = time.perf_counter()
        created = await self._gateway.create(GPU_CLAIMS, body, namespace=TENANT)
        patch = {
            "metadata": {"resourceVersion": created.object.metadata.resource_version},
            "status": {"nodeName": "node-0", "boundAt": "2026-01-01T00:00:00Z"},
        }
        await self._gateway.patch(GPU_CLAIMS, name, patch, namespace=TENANT, subresource="status")
        return await future - started_at

    async def order(self) -> float:
        """Order one unit; give the seconds until it is bound."""
        body = self._body()
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._bound[body["metadata"]["name"]] = future
        started_at = time.perf_counter()
        await self._gateway.create(GPU_CLAIMS, body, namespace=TENANT)
        return await future - started_at

    async def refusal(self) -> float:
        """Order what cannot fit; give the seconds until the refusal is here."""
        body = {"metadata": {"name": "too-big"}, "spec": {"className": "gpu", "count": UNITS_PER_NODE + 1}}
        started_at = time.perf_counter()
        try:
            await self._gateway.create(GPU_CLAIMS, body, namespace=TENANT)
        except Denied:
            return time.perf_counter() - started_at
        raise AssertionError("an order of more than a node has was admitted")

    async def release_all(self) -> None:
        for name in self.names:
            await self._gateway.delete(GPU_CLAIMS, name, namespace=TENANT)
        self.names.clear()
        self._bound.clear()


async def measure(
    figures: Figures, work: Callable[[], Awaitable[float]], *, count: int, clients: int
) -> None:
    """Do the work ``count`` times, ``clients`` at a time, and add what it took."""

    async def client(times: int) -> None:
        for _ in range(times):
            figures.seconds.append(await work())

    started_at = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(clients):
            tasks.create_task(client(count // clients))
    figures.elapsed += time.perf_counter() - started_at


async def fill(gateway: AsyncGateway, *, nodes: int) -> None:
    await gateway.create(NAMESPACES, {"metadata": {"name": TENANT}})
    quantities = {"cpu": "64", RESOURCE: str(UNITS_PER_NODE)}
    status = {
        "capacity": quantities,
        "allocatable": quantities,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    for number in range(nodes):
        labels = {"kubevirt.io/schedulable": "true"}
        await gateway.create(NODES, {"metadata": {"name": f"node-{number}", "labels": labels}})
        await gateway.patch(NODES, f"node-{number}", {"status": status}, subresource="status")
    source = {"devicePlugin": {"resourceName": RESOURCE}}
    spec = {"vendor": "NVIDIA", "model": "GPU", "mode": "passthrough", "source": source}
    await gateway.create(GPU_CLASSES, {"metadata": {"name": "gpu"}, "spec": spec})


async def until_published(gateway: AsyncGateway, *, nodes: int) -> None:
    """Wait until the controller has written down every node: that is work of its first start, not of orders."""
    published: set[str] = set()
    async with aclosing(watch(gateway, GPU_NODES)) as events:
        async for event in events:
            if event.object is not None and event.object.status.resources:
                published.add(event.name)
            if len(published) == nodes:
                return


@asynccontextmanager
async def filled_server(
    folder: Path, *, nodes: int
) -> AsyncIterator[tuple[RunningServer, AsyncGateway, Orders]]:
    """A dev server with nodes and an offer, and somebody who orders there."""
    with start_dev_server(folder) as server:
        async with AsyncGateway.connect(config.load(server.kubeconfig), pool_size=64) as gateway:
            await fill(gateway, nodes=nodes)
            orders = Orders(gateway)
            watching = asyncio.create_task(orders.watch())
            await orders.is_watching.wait()
            yield server, gateway, orders
            watching.cancel()
            await asyncio.wait([watching])


async def run(options: argparse.Namespace, folder: Path) -> None:
    floor_alone, alone, floor_burst, burst, refused = (Figures() for _ in range(5))
    async with AsyncExitStack() as stack:
        bare_server, _, bare = await stack.enter_async_context(
            filled_server(folder / "bare", nodes=options.nodes)
        )
        server, gateway, orders = await stack.enter_async_context(
            filled_server(folder / "server", nodes=options.nodes)
        )
        controller = start_controller(server, folder / "controller")
        stack.callback(controller.stop)
        await until_published(gateway, nodes=options.nodes)
        await measure(Figures(), bare.create_and_patch, count=50, clients=1)
        await measure(Figures(), orders.order, count=50, clients=1)
        processes = [
            _process_of(bare_server.process),
            _process_of(server.process),
            _process_of(controller.process),
        ]
        before = [_processor_seconds(process) for process in processes]
        for _ in range(options.rounds):
            few, many, clients = (
                options.alone // options.rounds,
                options.burst // options.rounds,
                options.clients,
            )
            await measure(floor_alone, bare.create_and_patch, count=few, clients=1)
            await measure(alone, orders.order, count=few, clients=1)
            await measure(refused, orders.refusal, count=few, clients=1)
            await measure(floor_burst, bare.create_and_patch, count=many, clients=clients)
            await measure(burst, orders.order, count=many, clients=clients)
            await bare.release_all()
            await orders.release_all()
        spent = [_processor_seconds(process) - then for process, then in zip(processes, before, strict=True)]
        memory = processes[-1].memory_info().rss / 2**20
    print(f"{options.nodes} nodes; {psutil.cpu_count()} processors for everything; no fsync per write")
    show("one at a time", floor_alone, alone)
    show(f"{options.clients} clients", floor_burst, burst)
    print(f"\nrefusal round trip, one at a time: p50 {refused.p50:.1f} ms, p99 {refused.p99:.1f} ms")
    ordered = len(alone.seconds) + len(burst.seconds)
    per_order = [seconds * 1000 / ordered for seconds in spent]
    print(
        "milliseconds of processor per object, releases and refusals included: "
        "bare server {:.1f}, asked server {:.1f}, controller {:.1f}".format(*per_order)
    )
    print(f"controller's resident memory at the end: {memory:.0f} MiB")


def _process_of(started: subprocess.Popen[Any] | None) -> psutil.Process:
    assert started is not None
    return psutil.Process(started.pid)


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def show(title: str, floor: Figures, order: Figures) -> None:
    print(f"\n{title:32} {'p50 ms':>9} {'p99 ms':>9} {'per s':>9}")
    print(f"{'create + status patch (floor)':32} {floor.p50:9.1f} {floor.p99:9.1f} {floor.per_second:9.0f}")
    print(f"{'order -> bound':32} {order.p50:9.1f} {order.p99:9.1f} {order.per_second:9.0f}")
    ratios = order.p50 / floor.p50, order.p99 / floor.p99, order.per_second / floor.per_second
    print(f"{'ratio':32} " + " ".join(f"{ratio:9.2f}" for ratio in ratios))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=300)
    parser.add_argument("--burst", type=int, default=1600)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    with tempfile.TemporaryDirectory(prefix="order-to-bound-") as folder:
        uvloop.run(run(parser.parse_args(), Path(folder)))


if __name__ == "__main__":
    main()
