"""Candidates for the lease, and a clock that only the test moves."""

from __future__ import annotations

import asyncio
from typing import Any

from controller.leader import Leadership, LeaseTimes
from controller.names import LEASE_NAME
from kube.aio import AsyncGateway
from kube.kinds import LEASES

NAMESPACE = "gpu-portal-system"
TIMES = LeaseTimes(duration_seconds=15, renew_deadline_seconds=10.0, retry_seconds=0.01)


class Clock:
    """A monotonic clock that stands still until told."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self._reads = 0

    def __call__(self) -> float:
        self._reads += 1
        return self.seconds

    async def is_looked_at(self) -> None:
        """Wait until its owner has looked at the lease from beginning to end; that reads the clock two or three times."""
        enough = self._reads + 6
        async with asyncio.timeout(10):
            while self._reads < enough:
                await asyncio.sleep(0.001)


def a_candidate(gateway: AsyncGateway, identity: str, clock: Clock) -> Leadership:
    return Leadership(gateway, namespace=NAMESPACE, identity=identity, times=TIMES, clock=clock)


async def holder(gateway: AsyncGateway) -> str:
    return (await gateway.get(LEASES, LEASE_NAME, namespace=NAMESPACE)).object.spec.holder_identity


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """End what would go on for ever."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    # TLS says goodbye on the connections of cancelled requests, and aiohttp's close does not wait for that.
    await asyncio.sleep(0.1)
