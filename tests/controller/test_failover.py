"""Two controllers and one lease, while tenants order: whatever happens to the leader, no unit is sold twice and no order is lost."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controller import process
from controller.leader import Leadership, LeaseTimes, utc_now
from controller.names import LEASE_NAME
from controller.options import Options, Timings
from controller.term import Term
from controller.webhook_config import WebhookAddress
from gpu.fit import Reason
from kube.errors import AdmissionUnavailable, Denied
from kube.kinds import LEASES
from tests.controller.cluster import Cluster, ready
from tests.controller.conftest import Start
from tests.controller.market import Market
from tests.controller.processes import RunningController
from tests.controller.recorder import recording
from tests.controller.relay import wire_to
from tests.kube.servers import RunningServer

LEASE = "--lease-seconds=3"
UNITS = {"n1": 8, "n2": 4, "n3": 3}
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@pytest.fixture
def api(cluster: Cluster, request: pytest.FixtureRequest) -> RunningServer:
    """The server of the cluster, whose processes are left alone."""
    server: RunningServer = request.getfixturevalue("own_server")
    return server


@pytest.fixture
async def nodes(cluster: Cluster) -> Cluster:
    for name in ("n2", "n3"):
        await cluster.add_node(name, UNITS[name])
    return cluster


@asynccontextmanager
async def trading(cluster: Cluster) -> AsyncIterator[Market]:
    """Trade meanwhile; afterwards nothing is oversold and nothing admitted is missing."""
    market = Market(cluster, UNITS)
    witnessing = asyncio.create_task(market.witness())
    trade = asyncio.create_task(market.trade())
    await market.until_answered("admitted")
    yield market
    market.close()
    await trade
    await market.settled()
    if witnessing.done():
        witnessing.result()  # raises: it watches for ever
    witnessing.cancel()
    await asyncio.wait([witnessing])
    assert market.witnessed >= market.answers["admitted"], "the witness saw less than there was"


async def wait_for(controller: RunningController, word: str) -> None:
    await asyncio.to_thread(controller.wait_for, word)


async def test_the_follower_takes_over_from_a_leader_that_is_killed(nodes: Cluster, start: Start) -> None:
    leader = start(LEASE, identity="first")
    follower = start(LEASE, identity="second", wait=False)

    async with trading(nodes) as market:
        leader.kill()
        await wait_for(follower, "ready")
        await market.until_answered("admitted")
        await market.until_answered("NoCapacity")


async def test_a_leader_that_is_stopped_for_longer_than_the_lease_writes_nothing_when_it_goes_on(
    nodes: Cluster, start: Start, api: RunningServer, tmp_path: Path
) -> None:
    with recording(api.kubeconfig, tmp_path / "recorder") as recorder:
        leader = await asyncio.to_thread(start, LEASE, identity="first", through=recorder)
        follower = start(LEASE, identity="second", wait=False)
        async with trading(nodes) as market:
            leader.process.send_signal(signal.SIGSTOP)
            await wait_for(follower, "ready")
            await market.until_answered("admitted")
            recorder.forget()

            leader.process.send_signal(signal.SIGCONT)
            await wait_for(leader, "following")
            for _ in range(3):
                await market.until_answered("admitted")

            written = {right for right in recorder.seen if right[2] in WRITES}
            assert written == set()
            assert recorder.seen, "it looks at the lease, and that is all"


@pytest.mark.parametrize("how", ["cut", "fall_silent"])
async def test_a_leader_that_alone_cannot_reach_the_api_server_is_replaced_and_comes_back_as_follower(
    nodes: Cluster, start: Start, api: RunningServer, tmp_path: Path, how: str
) -> None:
    with wire_to(api.kubeconfig, tmp_path / "wire") as wire:
        leader = await asyncio.to_thread(start, LEASE, identity="first", through=wire)
        follower = start(LEASE, identity="second", wait=False)
        async with trading(nodes) as market:
            getattr(wire, how)()
            await wait_for(leader, "following")
            await wait_for(follower, "ready")
            await market.until_answered("admitted")

            wire.mend()
            await market.until_answered("admitted")
            assert await holder(nodes) == "second"

            follower.kill()
            await wait_for(leader, "ready")
            await market.until_answered("admitted")


async def test_the_quiet_time_of_a_new_leader_says_when_to_ask_again(nodes: Cluster, start: Start) -> None:
    leader = start(LEASE, "--webhook-timeout=4", identity="first")
    await nodes.order("train", 2)
    await nodes.until_bound("train")
    leader.kill()
    successor = start(
        LEASE, "--webhook-timeout=4", identity="first", wait=False
    )  # takes its own lease at once

    refused = await until_denied(nodes)
    assert refused.reason == Reason.CAPACITY_UNKNOWN
    assert refused.retry_after_seconds
    started_at = time.monotonic()
    await wait_for(successor, "ready")

    assert time.monotonic() - started_at > 1.0, (
        "quiet for as long as an order of the leader before may be on its way"
    )
    await nodes.order("serve")
    await nodes.until_bound("serve")


@pytest.mark.parametrize(("webhook", "is_quiet"), [(WebhookAddress(ca=bytes), False), (None, True)])
async def test_the_first_leader_is_quiet_only_where_others_install_the_webhook(
    cluster: Cluster, tmp_path: Path, webhook: WebhookAddress | None, is_quiet: bool
) -> None:
    """No configuration of our name says that nobody was asked, unless it may have another name."""
    options = Options(kubeconfig=None, state=tmp_path, identity="first")
    leadership = Leadership(
        cluster.gateway, namespace="gpu-portal-system", identity="first", times=options.lease
    )
    term = Term(
        cluster.gateway,
        leadership,
        options,
        is_successor=await leadership.acquire(),
        webhook=webhook,
        on_ready=lambda: None,
        now=utc_now,
    )

    assert ("orders admitted by the controller before may still arrive" in term.missing()) is is_quiet


async def until_denied(cluster: Cluster) -> Denied:
    """Order until somebody is asked; the configuration still names the one that was killed."""
    async with asyncio.timeout(20):
        while True:
            try:
                await cluster.order("serve", dry_run=True)
            except Denied as refused:
                return refused
            except AdmissionUnavailable:
                await asyncio.sleep(0.02)


class SetClock:
    """The time of day as somebody sets it."""

    def __init__(self) -> None:
        self.off = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.off


async def test_a_time_of_day_that_jumps_decides_nothing(
    nodes: Cluster, tmp_path: Path, api: RunningServer
) -> None:
    """Both controllers run in this process, each with a clock of its own that is set again and again."""
    said: dict[str, list[str]] = {"first": [], "second": []}
    clocks = {name: SetClock() for name in said}
    stop = asyncio.Event()
    options = {
        name: Options(
            kubeconfig=api.kubeconfig,
            state=tmp_path / name,
            identity=name,
            lease=LeaseTimes(duration_seconds=12, renew_deadline_seconds=8.0, retry_seconds=0.2),
            timings=Timings(webhook_seconds=1),
        )
        for name in said
    }
    async with asyncio.TaskGroup() as tasks:
        for name in said:
            tasks.create_task(
                process.run(options[name], stop=stop, announce=said[name].append, now=clocks[name])
            )
            async with asyncio.timeout(20):
                while not said[name] or (name == "first" and not said[name][-1].startswith("ready")):
                    await asyncio.sleep(0.02)
        async with trading(nodes) as market:
            for days in (400, -400, 0, 3, -3):
                clocks["first"].off = timedelta(days=days)
                clocks["second"].off = timedelta(days=-days)
                await nodes.set_node_status("n3", conditions=ready("False" if days else "True"))
                await market.until_answered("admitted")
                await asyncio.sleep(1.0)
                assert await holder(nodes) == "first"
        stop.set()
    await asyncio.sleep(0.5)  # nothing tells when the API server has closed its side of the connections

    assert [line.split()[0] for line in said["first"]] == ["listening", "following", "ready"]
    assert [line.split()[0] for line in said["second"]] == ["listening", "following"]


async def holder(cluster: Cluster) -> str:
    lease = await cluster.gateway.get(LEASES, LEASE_NAME, namespace="gpu-portal-system")
    return lease.object.spec.holder_identity
