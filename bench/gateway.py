"""What the gateways add to the HTTP libraries they stand on: a get, a patch, a list of 100,000 claims.

    python -m bench.gateway [--calls 2000] [--claims 100000]

A process beside this one answers from memory; what is measured is this one's processor time. Each figure stands beside the bare
library doing the same exchange in the same run, alternating with it in rounds; read the ratio, not the microseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import resource
import statistics
from collections.abc import Awaitable, Callable
from multiprocessing.queues import Queue
from time import process_time
from typing import Any

import aiohttp
import urllib3

from kube.aio import AsyncGateway
from kube.config import ClusterConfig
from kube.credentials import Fixed
from kube.gateway import Gateway
from kube.kinds import GPU_CLAIMS
from kube.watching import EventType, watch

PAGE = 500
ROUNDS = 5
PATH = GPU_CLAIMS.path(namespace="tenant-1", name="claim-1")
PATCH = {"metadata": {"resourceVersion": "1"}, "status": {"nodeName": "node-1"}}


def claim(number: int) -> dict[str, Any]:
    """Make a bound claim as large as a real one: conditions and managed fields included."""
    at = "2026-05-01T12:00:00Z"
    condition = {
        "type": "Bound",
        "status": "True",
        "reason": "Allocated",
        "message": "",
        "lastTransitionTime": at,
    }
    manager = {"manager": "gpu-portal", "operation": "Update", "fieldsV1": {"f:spec": {"f:className": {}}}}
    return {
        "apiVersion": GPU_CLAIMS.api_version,
        "kind": "GPUClaim",
        "metadata": {
            "name": f"claim-{number}",
            "namespace": f"tenant-{number % 200}",
            "uid": f"00000000-0000-0000-0000-{number:012}",
            "resourceVersion": str(number),
            "creationTimestamp": at,
            "managedFields": [manager],
        },
        "spec": {"className": "l40s", "count": 1},
        "status": {"nodeName": f"node-{number % 1000}", "boundAt": at, "conditions": [condition]},
    }


class Answering(asyncio.Protocol):
    """The least HTTP server that can answer: an object, or the page that the continue token names."""

    pages: list[bytes]
    one: bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        wanted = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
        if not end or len(body) < wanted:
            return
        self._received = b""
        target = head.split(b" ", 2)[1]
        answer = self.one
        if b"limit=" in target:
            answer = self.pages[int(target.partition(b"continue=")[2].split(b"&")[0] or 0)]
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)


def serve(claims: int, ports: Queue[int]) -> None:
    Answering.one = json.dumps(claim(1)).encode()
    Answering.pages = []
    for start in range(0, claims, PAGE):
        after = start // PAGE + 1
        metadata = {"resourceVersion": "1", **({"continue": str(after)} if after * PAGE < claims else {})}
        items = [claim(number) for number in range(start, min(start + PAGE, claims))]
        Answering.pages.append(json.dumps({"metadata": metadata, "items": items}).encode())

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def report(what: str, bare: float, ours: float, unit: str) -> None:
    print(f"  {what:<34} {bare:9.2f} {ours:9.2f} {unit:<3} {ours / bare:6.2f} x")


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    started_at = process_time()
    work()
    return process_time() - started_at


def bench_threads(url: str, calls: int, pages: int) -> None:
    with Gateway.connect(ClusterConfig(server=url, credentials=Fixed("Bearer x"))) as gateway:
        user = gateway.as_user("alice", ["tenant-acme-use", "system:authenticated"])
        bare = urllib3.PoolManager()
        gets = [
            (
                seconds(lambda: [bare.request("GET", url + PATH).data for _ in range(calls)]),
                seconds(
                    lambda: [user.get(GPU_CLAIMS, "claim-1", namespace="tenant-1") for _ in range(calls)]
                ),
            )
            for _ in range(ROUNDS)
        ]
        collection = url + GPU_CLAIMS.path()
        drained = seconds(
            lambda: [
                bare.request("GET", f"{collection}?limit={PAGE}&continue={page}").data
                for page in range(pages)
            ]
        )
        listed = seconds(lambda: gateway.list_all(GPU_CLAIMS, limit=PAGE))
        bare.clear()
    print("threads: urllib3 alone, Gateway")
    bare_get, our_get = (statistics.median(side) / calls * 1e6 for side in zip(*gets, strict=True))
    report("get, one user's", bare_get, our_get, "us")
    report("list of all claims", drained, listed, "s")


async def aseconds(work: Callable[[], Awaitable[object]], *, times: int = 1) -> float:
    gc.collect()
    started_at = process_time()
    for _ in range(times):
        await work()
    return process_time() - started_at


async def bench_loop(url: str, calls: int, pages: int) -> None:
    config = ClusterConfig(server=url, credentials=Fixed("Bearer x"))
    data = json.dumps(PATCH).encode()
    async with AsyncGateway.connect(config) as gateway, aiohttp.ClientSession() as bare:

        async def bare_get(target: str = PATH) -> bytes:
            async with bare.get(url + target) as response:
                return await response.read()

        async def bare_patch() -> bytes:
            async with bare.patch(url + PATH, data=data) as response:
                return await response.read()

        async def get() -> object:
            return await gateway.get(GPU_CLAIMS, "claim-1", namespace="tenant-1")

        async def patch() -> object:
            return await gateway.patch(
                GPU_CLAIMS, "claim-1", PATCH, namespace="tenant-1", subresource="status"
            )

        async def drain() -> None:
            for page in range(pages):
                await bare_get(f"{GPU_CLAIMS.path()}?limit={PAGE}&continue={page}")

        async def follow() -> None:
            async for event in watch(gateway, GPU_CLAIMS, page_size=PAGE):
                if event.type is EventType.LISTED:
                    return

        print("event loop: aiohttp alone, AsyncGateway")
        for what, theirs, ours in (("get", bare_get, get), ("status patch", bare_patch, patch)):
            rounds = [
                (await aseconds(theirs, times=calls), await aseconds(ours, times=calls))
                for _ in range(ROUNDS)
            ]
            bare_one, our_one = (statistics.median(side) / calls * 1e6 for side in zip(*rounds, strict=True))
            report(what, bare_one, our_one, "us")
        drained = await aseconds(drain)
        report("list of all claims, kept", drained, await aseconds(lambda: gateway.list_all(GPU_CLAIMS)), "s")
        report("list of all claims, as events", drained, await aseconds(follow), "s")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--claims", type=int, default=100_000)
    given = parser.parse_args()
    ports: Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(given.claims, ports), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ports.get(timeout=120)}"
    pages = -(-given.claims // PAGE)
    bench_threads(url, given.calls, pages)
    asyncio.run(bench_loop(url, given.calls, pages))
    print(
        f"largest memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
    )
    server.terminate()
    server.join()


if __name__ == "__main__":
    main()
