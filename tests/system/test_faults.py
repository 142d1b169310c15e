"""Whatever happens between the controller and its API server under load: the checker stays at zero, and all agree soon after.

A few rounds by default; FAULT_ROUNDS=50 for as many as `make soak` runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.oversell.agreement import settle
from bench.oversell.arena import Arena, Settings, arena, fill, start_and_publish
from bench.oversell.plan import Plan
from kube import config
from kube.errors import KubeError
from kube.kinds import NAMESPACES
from tests.kube.servers import RunningServer
from tests.system.proxy import FaultProxy, Faults, fault_proxy

ROUNDS = int(os.environ.get("FAULT_ROUNDS", "2"))
STALL_SECONDS = float(os.environ.get("STALL_SECONDS", "3"))
CUT_OFF_SECONDS = float(os.environ.get("CUT_OFF_SECONDS", "12"))
LOADED_SECONDS = 1.0
CONVERGED_SECONDS = 10.0
AT_LEAST = 50
FOLLOWED_SHARE = 0.05
"""Of the orders of the timetable, impossible ones among them: as many have to be such that a refusal would be found wrong."""
WHOLE_ROUNDS = frozenset({"expired watches", "killed servers", "killed etcds"})
"""Those that are counted by the round. The others by the requests or watches they were done to, of which a round has many."""
_SETTINGS = Settings(
    rate=15,
    life_seconds=5,
    race_seconds=4,
    plan=Plan(nodes=100, tenants=100),
)
_SIGHT_SECONDS = 4.0
_LONG_SIGHT_SECONDS = {
    "expired watches": 8.0,
    "stalled watches": STALL_SECONDS + 15,
    "cut off": CUT_OFF_SECONDS + 15,
    "killed servers": 15.0,
    "killed etcds": 15.0,
}
"""How old the controller's picture may be meanwhile. Elsewhere its watches live, and the time goes into writes tried again."""


@dataclass
class Stage:
    """A loaded cluster whose controller reaches its server through the proxy."""

    server: RunningServer
    running: Arena
    proxy: FaultProxy
    took: list[float] = field(default_factory=list)

    async def round(self, fault: Callable[[Stage], Awaitable[None]]) -> None:
        """Load, fault, heal; then all must agree within ten seconds."""
        clients = self.running.clients
        clients.open()
        await asyncio.sleep(LOADED_SECONDS)
        await fault(self)
        self.proxy.heal()
        healed_at = time.monotonic()
        await clients.close()
        await self.running.unrest.end()
        await self.running.tenants.end()
        left = CONVERGED_SECONDS - (time.monotonic() - healed_at)
        assert await settle(self.running.checker, seconds=left) is not None, self.words
        self.took.append(time.monotonic() - healed_at)

    @property
    def words(self) -> str:
        checker = self.running.checker
        counts = f"{dict(self.proxy.counts)} {dict(self.running.tenants.outcomes)}"
        return "\n".join([str(checker.findings), *checker.findings.words, counts])

    async def until_served(self) -> None:
        """Wait until the API server answers again."""
        async with asyncio.timeout(60):
            while True:
                try:
                    await self.running.gateway.get(NAMESPACES, "default")
                except KubeError:
                    await asyncio.sleep(0.05)
                else:
                    return


@asynccontextmanager
async def staged(server: RunningServer, folder: Path) -> AsyncIterator[Stage]:
    plan = _SETTINGS.plan
    await fill(server, plan)
    async with fault_proxy(config.load(server.kubeconfig), folder / "proxy") as proxy:
        with ExitStack() as stack:
            controller = await start_and_publish(server, folder / "controller", plan, way=proxy)
            stack.callback(controller.kill)
            async with arena(server, _SETTINGS) as running:
                running.checker.refusals.tolerates_unknown = True
                yield Stage(server, running, proxy)


def through_the_proxy(name: str, faults: Faults) -> Callable[[Stage], Awaitable[None]]:
    """Do it until it was done to enough requests."""

    async def fault(stage: Stage) -> None:
        wanted = stage.proxy.counts[name] + -(-AT_LEAST // ROUNDS)
        stage.proxy.faults = faults
        async with asyncio.timeout(120):
            while stage.proxy.counts[name] < wanted:
                await asyncio.sleep(0.05)

    return fault


async def expired(stage: Stage) -> None:
    stage.proxy.expire_watches()
    await asyncio.sleep(1.0)


async def stalled(stage: Stage) -> None:
    stage.proxy.stall()
    await asyncio.sleep(STALL_SECONDS)


async def cut_off(stage: Stage) -> None:
    stage.proxy.cut_off()
    await asyncio.sleep(CUT_OFF_SECONDS)


async def killed_server(stage: Stage) -> None:
    if stage.server.is_real:
        os.kill(stage.server.pid_of("kube-apiserver"), signal.SIGKILL)
    else:
        stage.server.kill()
        await asyncio.to_thread(stage.server.start)
    stage.proxy.counts["killed servers"] += 1
    await stage.until_served()


async def killed_etcd(stage: Stage) -> None:
    os.kill(stage.server.pid_of("etcd"), signal.SIGKILL)
    stage.proxy.counts["killed etcds"] += 1
    await stage.until_served()


FAULTS = {
    "conflicts": through_the_proxy("conflicts", Faults(conflicts=0.3)),
    "throttled": through_the_proxy("throttled", Faults(throttled=0.3)),
    "lost answers": through_the_proxy("lost answers", Faults(lost_answers=0.1)),
    "odd bodies": through_the_proxy("odd bodies", Faults(odd_bodies=0.2)),
    "doubled events": through_the_proxy("doubled events", Faults(are_events_doubled=True)),
    "expired watches": expired,
    "stalled watches": stalled,
    "cut off": cut_off,
    "killed servers": killed_server,
    "killed etcds": killed_etcd,
    "all at once": through_the_proxy(
        "lost answers",
        Faults(conflicts=0.2, throttled=0.1, lost_answers=0.1, odd_bodies=0.1, are_events_doubled=True),
    ),
}


@pytest.mark.timeout(600 + 600 * ROUNDS)
async def test_nothing_is_sold_twice_or_lost_and_all_agree_soon_after_each_fault(
    own_server: RunningServer, tmp_path: Path
) -> None:
    async with staged(own_server, tmp_path) as stage:
        for name, fault in FAULTS.items():
            if name == "killed etcds" and not own_server.is_real:
                continue  # the dev server has none
            stage.took.clear()
            stage.running.checker.sight_seconds = _LONG_SIGHT_SECONDS.get(name, _SIGHT_SECONDS)
            for number in range(ROUNDS):
                await stage.round(fault)
                if number and name not in WHOLE_ROUNDS and stage.proxy.counts[name] >= AT_LEAST:
                    break
            print(
                f"{name}: {len(stage.took)} rounds, {dict(stage.proxy.counts)}, agreed after {max(stage.took):.1f} s at most",
                flush=True,
            )
            assert not stage.running.checker.findings.total, f"{name}: {stage.words}"
        assert await stage.running.empty() is not None, stage.words

        refusals = stage.running.checker.refusals
        print(
            f"{stage.running.tenants.orders} orders, {stage.running.tenants.arrived} of them by the timetable, {stage.running.checker.bound} binds, {refusals.watched} orders were followed"
        )
        assert not stage.running.checker.findings.total, stage.words
        assert stage.running.checker.bound > 0
        assert refusals.watched > stage.running.tenants.arrived * FOLLOWED_SHARE
