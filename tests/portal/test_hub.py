"""From Redis to every open page of a process."""

from __future__ import annotations

import asyncio
from contextlib import closing

import redis
from pytest_django import Settings

from portal import nudges
from portal.hub import Hub, Listener
from tests.fixtures.redis import RunningRedis


async def heard(listener: Listener, *events: str) -> dict[str, str]:
    """Wait until the page was told of all these."""
    told: dict[str, str] = {}
    async with asyncio.timeout(20):
        while not set(events) <= told.keys():
            await listener.woken.wait()
            told |= listener.take()
    return told


def publish(server: RunningRedis, *lines: str) -> None:
    with closing(redis.Redis.from_url(server.url)) as client:
        for line in lines:
            client.publish(nudges.CHANNEL, line)


async def test_a_burst_is_told_at_once_and_once_more_with_the_last_state(
    running_redis: RunningRedis, settings: Settings
) -> None:
    settings.LIVE_DEBOUNCE_SECONDS = 1.0
    hub = Hub()
    with hub.listening(Listener(tenant="", is_hoster=True)) as page:
        await heard(page, "live")
        publish(running_redis, *(f"gpuclasses  {number}" for number in range(1, 101)))

        first = await heard(page, "classes")
        second = await heard(page, "classes")

    assert (first["classes"], second["classes"]) == ("1", "100")
    await hub.close()


async def test_each_page_hears_what_is_its_own(running_redis: RunningRedis) -> None:
    hub = Hub()
    acme, catalog = Listener(tenant="tenant-acme", is_hoster=False), Listener(tenant="", is_hoster=False)
    hoster = Listener(tenant="", is_hoster=True)
    with hub.listening(acme), hub.listening(catalog), hub.listening(hoster):
        for page in (acme, catalog, hoster):
            await heard(page, "live")
        publish(
            running_redis,
            "gpuclaims tenant-globex 1",
            "budgets tenant-globex 1",
            "stock  1",
            "unheard-of  1",
            "gpuclaims tenant-acme 2",
            "resourcequotas tenant-acme 2",
            "gpuclasses  3",
        )

        assert await heard(acme, "classes") == {"claims": "2", "budget": "2", "classes": "3"}
        assert await heard(catalog, "classes") == {"classes": "3"}
        assert await heard(hoster, "classes") == {"claims": "2", "budget": "2", "nodes": "1", "classes": "3"}
    await hub.close()


async def test_after_an_interruption_everything_may_have_changed(running_redis: RunningRedis) -> None:
    hub = Hub()
    with hub.listening(Listener(tenant="tenant-acme", is_hoster=False)) as page:
        await heard(page, "live")
        running_redis.kill()
        await heard(page, "stale")
        running_redis.start()

        assert await heard(page, "live", "claims") == {
            "live": "",
            "budget": "again",
            "claims": "again",
            "classes": "again",
        }
    await hub.close()


def test_a_nudge_into_the_void_costs_no_time_and_is_no_error(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    for _ in range(1000):
        nudges.nudge("gpuclaims", "tenant-acme", "1")
