"""One leader at a time, whatever clocks and networks do. The server is real, the clocks are the test's."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import pytest
from msgspec import Struct

from controller.fenced import FencedGateway
from controller.leader import Leadership, LeaseLost
from controller.names import LEASE_NAME
from kube import config
from kube.aio import AsyncGateway
from kube.answers import Read
from kube.errors import NotFound, Unavailable
from kube.kinds import GPU_CLASSES, LEASES, NAMESPACES, Kind
from tests.controller.candidates import NAMESPACE, TIMES, Clock, a_candidate, ended, holder
from tests.kube.servers import RunningServer

T = TypeVar("T", bound=Struct)


async def test_the_first_one_makes_the_lease_and_succeeds_nobody(gateway: AsyncGateway) -> None:
    alice = a_candidate(gateway, "alice", Clock())

    is_successor = await alice.acquire()

    assert not is_successor
    assert alice.is_held
    assert await holder(gateway) == "alice"


async def test_of_many_that_start_together_one_leads(gateway: AsyncGateway) -> None:
    # They meet on open connections, and none of them is ended below while it still opens one: asyncio forgets to close those.
    await asyncio.gather(*(gateway.get(NAMESPACES, "default") for _ in range(10)))
    candidates = [a_candidate(gateway, f"c{i}", Clock()) for i in range(10)]
    tasks = [asyncio.create_task(candidate.acquire()) for candidate in candidates]

    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(10 * TIMES.retry_seconds)

    assert sum(candidate.is_held for candidate in candidates) == 1
    await ended(*tasks)


async def test_a_follower_waits_until_it_has_itself_seen_the_lease_run_out(gateway: AsyncGateway) -> None:
    await a_candidate(gateway, "alice", Clock()).acquire()
    clock = Clock()
    bob = a_candidate(gateway, "bob", clock)
    waiting = asyncio.create_task(bob.acquire())
    await clock.is_looked_at()
    assert not waiting.done()

    clock.seconds += TIMES.duration_seconds

    assert await asyncio.wait_for(waiting, 10) is True, "orders alice admitted may be on their way"
    assert await holder(gateway) == "bob"


async def test_a_leader_that_cannot_renew_stops_before_anybody_may_take_over(gateway: AsyncGateway) -> None:
    clock = Clock()
    alice = a_candidate(gateway, "alice", clock)
    await alice.acquire()

    clock.seconds += TIMES.renew_deadline_seconds

    assert TIMES.renew_deadline_seconds < TIMES.duration_seconds
    assert not alice.is_held
    with pytest.raises(LeaseLost):
        alice.require()


async def test_no_write_leaves_without_the_lease(gateway: AsyncGateway) -> None:
    clock = Clock()
    alice = a_candidate(gateway, "alice", clock)
    await alice.acquire()
    fenced = FencedGateway(gateway, alice)
    await fenced.create(NAMESPACES, {"metadata": {"name": "written"}})
    clock.seconds += TIMES.renew_deadline_seconds

    with pytest.raises(LeaseLost):
        await fenced.create(NAMESPACES, {"metadata": {"name": "not-written"}})
    with pytest.raises(LeaseLost):
        await fenced.replace(NAMESPACES, {"metadata": {"name": "written"}})
    with pytest.raises(LeaseLost):
        await fenced.patch(GPU_CLASSES, "h100", {"status": {"free": 1}}, resource_version="1")
    with pytest.raises(LeaseLost):
        await fenced.delete(NAMESPACES, "written", uid="x")

    with pytest.raises(NotFound):
        await gateway.get(NAMESPACES, "not-written")


async def test_a_leader_whose_lease_somebody_took_ends_its_term(gateway: AsyncGateway) -> None:
    alice = a_candidate(gateway, "alice", Clock())
    await alice.acquire()
    keeping = asyncio.create_task(alice.keep())

    await gateway.patch(LEASES, LEASE_NAME, {"spec": {"holderIdentity": "mallory"}}, namespace=NAMESPACE)

    await asyncio.wait_for(keeping, 10)
    assert not alice.is_held
    await alice.release()
    assert await holder(gateway) == "mallory", "what is not ours is not given back"


async def test_a_leader_that_was_stopped_for_too_long_does_not_come_back(gateway: AsyncGateway) -> None:
    clock = Clock()
    alice = a_candidate(gateway, "alice", clock)
    await alice.acquire()
    keeping = asyncio.create_task(alice.keep())
    await asyncio.sleep(3 * TIMES.retry_seconds)
    assert alice.is_held

    clock.seconds += TIMES.renew_deadline_seconds + 1

    await asyncio.wait_for(keeping, 10)
    assert await holder(gateway) == "alice", "it leaves the lease as it is"
    assert not alice.is_held


async def test_a_leader_stopped_between_reading_the_lease_and_renewing_it_writes_no_more(
    own_server: RunningServer,
) -> None:
    clock = Clock()

    class StoppedAfterReading(AsyncGateway):
        async def get(self, kind: Kind[T], name: str, *, namespace: str | None = None) -> Read[T]:
            read = await super().get(kind, name, namespace=namespace)
            clock.seconds += TIMES.renew_deadline_seconds + 1
            return read

    async with StoppedAfterReading.connect(config.load(own_server.kubeconfig)) as gateway:
        alice = a_candidate(gateway, "alice", clock)
        await alice.acquire()
        written = await AsyncGateway.get(gateway, LEASES, LEASE_NAME, namespace=NAMESPACE)

        await asyncio.wait_for(alice.keep(), 10)

        assert not alice.is_held
        assert await AsyncGateway.get(gateway, LEASES, LEASE_NAME, namespace=NAMESPACE) == written


async def test_a_renewal_keeps_the_lease(gateway: AsyncGateway) -> None:
    clock = Clock()
    alice = a_candidate(gateway, "alice", clock)
    await alice.acquire()
    keeping = asyncio.create_task(alice.keep())

    for _ in range(4):
        clock.seconds += TIMES.renew_deadline_seconds / 2
        renewed_before = (await gateway.get(LEASES, LEASE_NAME, namespace=NAMESPACE)).object.spec.renew_time
        async with asyncio.timeout(10):
            while True:
                lease = (await gateway.get(LEASES, LEASE_NAME, namespace=NAMESPACE)).object
                if lease.spec.renew_time != renewed_before:
                    break
        await clock.is_looked_at()

    assert alice.is_held
    await ended(keeping)


async def test_a_lease_given_back_is_taken_at_once(gateway: AsyncGateway) -> None:
    alice, bob = a_candidate(gateway, "alice", Clock()), a_candidate(gateway, "bob", Clock())
    await alice.acquire()

    await alice.release()

    assert await asyncio.wait_for(bob.acquire(), 10) is True
    assert not alice.is_held


async def test_a_process_restarted_under_its_name_takes_its_own_lease_at_once(gateway: AsyncGateway) -> None:
    await a_candidate(gateway, "alice", Clock()).acquire()

    assert await asyncio.wait_for(a_candidate(gateway, "alice", Clock()).acquire(), 10) is True


async def test_a_write_that_was_ready_to_leave_stays_when_the_lease_is_lost_meanwhile(
    own_server: RunningServer,
) -> None:
    clock = Clock()
    async with AsyncGateway.connect(config.load(own_server.kubeconfig), pool_size=1) as gateway:
        alice = a_candidate(gateway, "alice", clock)
        await alice.acquire()
        asked = 0

        class RunsOut(Leadership):
            """The first look says yes; then time passes while the connection is made."""

            def require(self) -> None:
                nonlocal asked
                asked += 1
                if asked > 1:
                    raise LeaseLost

        alice.__class__ = RunsOut
        with pytest.raises(Unavailable):
            await FencedGateway(gateway, alice).create(NAMESPACES, {"metadata": {"name": "too-late"}})

        assert asked == 2
        with pytest.raises(NotFound):
            await gateway.get(NAMESPACES, "too-late")
