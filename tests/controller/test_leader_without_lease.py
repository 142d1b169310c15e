"""Somebody deletes the lease, or there never was one: nobody leads before nobody else can."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from controller.names import CONFIG_NAME, LEASE_NAME
from kube.aio import AsyncGateway
from kube.errors import AlreadyExists
from kube.kinds import LEASES, NAMESPACES, WEBHOOKS
from tests.controller.candidates import NAMESPACE, TIMES, Clock, a_candidate
from tests.controller.rights import CONTROLLER, DEPLOY
from tools import manifests

SHIPPED = manifests.read(DEPLOY / "rbac")


async def test_a_lease_that_was_deleted_is_lost(gateway: AsyncGateway) -> None:
    alice = a_candidate(gateway, "alice", Clock())
    await alice.acquire()
    keeping = asyncio.create_task(alice.keep())

    await gateway.delete(LEASES, LEASE_NAME, namespace=NAMESPACE)

    await asyncio.wait_for(keeping, 10)
    assert not alice.is_held


async def test_a_deleted_lease_is_made_again_only_when_nobody_can_count_on_the_old_one(
    gateway: AsyncGateway,
) -> None:
    clock = Clock()
    alice, bob = a_candidate(gateway, "alice", clock), a_candidate(gateway, "bob", clock)
    await alice.acquire()
    waiting = asyncio.create_task(bob.acquire())
    await clock.is_looked_at()

    await gateway.delete(LEASES, LEASE_NAME, namespace=NAMESPACE)
    await clock.is_looked_at()
    assert not waiting.done()
    assert alice.is_held, "she has not looked since"
    clock.seconds += TIMES.renew_deadline_seconds
    await clock.is_looked_at()
    assert not waiting.done()

    clock.seconds += TIMES.duration_seconds - TIMES.renew_deadline_seconds
    assert await asyncio.wait_for(waiting, 10) is True, "orders alice admitted may be on their way"
    assert not alice.is_held


async def test_who_did_not_look_for_long_counts_from_when_it_sees_that_the_lease_is_gone(
    gateway: AsyncGateway,
) -> None:
    """Its last sight of the lease is old; the holder may have renewed it a moment before it was deleted."""
    clock = Clock()
    bob = a_candidate(gateway, "bob", clock)
    await bob.acquire()
    await bob.release()
    clock.seconds += TIMES.duration_seconds
    await a_candidate(gateway, "alice", Clock()).acquire()
    await gateway.delete(LEASES, LEASE_NAME, namespace=NAMESPACE)

    waiting = asyncio.create_task(bob.acquire())
    await clock.is_looked_at()
    assert not waiting.done()

    clock.seconds += TIMES.duration_seconds
    assert await asyncio.wait_for(waiting, 10) is True


async def test_a_holder_whose_lease_was_deleted_stands_in_line_like_everybody(gateway: AsyncGateway) -> None:
    clock = Clock()
    alice = a_candidate(gateway, "alice", clock)
    await alice.acquire()
    await gateway.delete(LEASES, LEASE_NAME, namespace=NAMESPACE)
    await asyncio.wait_for(alice.keep(), 10)

    waiting = asyncio.create_task(alice.acquire())
    await clock.is_looked_at()
    assert not waiting.done(), "another one may have held it in between"

    clock.seconds += TIMES.duration_seconds
    assert await asyncio.wait_for(waiting, 10) is True


async def test_a_newcomer_that_finds_no_lease_but_a_webhook_cannot_know_that_nobody_leads(
    gateway: AsyncGateway,
) -> None:
    await gateway.create(WEBHOOKS, {"metadata": {"name": CONFIG_NAME}, "webhooks": []})
    clock = Clock()
    waiting = asyncio.create_task(a_candidate(gateway, "bob", clock).acquire())
    await clock.is_looked_at()
    assert not waiting.done()

    clock.seconds += TIMES.duration_seconds

    assert await asyncio.wait_for(waiting, 10) is True


async def test_a_newcomer_that_may_not_read_the_webhook_cannot_know_either(gateway: AsyncGateway) -> None:
    with suppress(AlreadyExists):  # of a test before, on a server that is not made anew for each
        await gateway.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    for kind, body in SHIPPED:
        if kind.plural in ("roles", "rolebindings") and body["metadata"]["name"] == "gpu-controller":
            with suppress(AlreadyExists):
                await gateway.create(kind, body, namespace=NAMESPACE)  # the Lease, and nothing else
    clock = Clock()
    waiting = asyncio.create_task(a_candidate(gateway.as_user(CONTROLLER, []), "bob", clock).acquire())
    await clock.is_looked_at()
    assert not waiting.done()

    clock.seconds += TIMES.duration_seconds

    assert await asyncio.wait_for(waiting, 10) is True
