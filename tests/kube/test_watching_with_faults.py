from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from kube import errors
from kube.backoff import Backoff
from kube.kinds import GPU_CLAIMS
from tests.kube.rounds import EXPIRED, Rounds, Steps, Time, ended_stream, open_stream, said, take, watching
from tests.kube.scripted import (
    CHUNKED,
    RESET,
    Act,
    chunk,
    line,
    listed,
    namespace,
    reply,
    scripted,
    status,
    told,
)


async def test_a_silent_stream_is_lost_after_its_time_and_listed_anew() -> None:
    rounds = Rounds([listed(namespace("a"))], [open_stream()])

    with scripted(rounds) as server:
        async with watching(server, stream_seconds=0.1, grace_seconds=0.1) as events:
            got = await take(events, 5)

    assert said(got) == ["ADDED a", "LISTED", "DISCONNECTED", "MODIFIED a", "LISTED"]
    assert "timed out" in str(got[2].error)


@pytest.mark.parametrize(
    ("stream", "wanted"),
    [
        ([CHUNKED, RESET], errors.Unavailable),
        ([CHUNKED, chunk(line("ADDED", namespace("b"))[:20]), Act.CLOSE], errors.Unavailable),
        (ended_stream(chunk(line("ADDED", namespace("b"))[:20])), errors.Unavailable),
        (ended_stream(chunk(b"<html>please log in</html>\n")), errors.Unreadable),
        (ended_stream(chunk(b'{"type":"PARTY","object":{"metadata":{}}}\n')), errors.Unreadable),
        (ended_stream(told("ERROR", {"kind": "Status", "code": 500, "message": "etcd"})), errors.Unavailable),
        ([reply(b"<html>429</html>", code=429)], errors.Unavailable),
        ([status(403, "Forbidden", "no watch for you")], errors.Forbidden),
        ([reply(b"", ("Location", "/login"), code=302)], errors.Unexpected),
    ],
)
async def test_a_broken_stream_is_told_and_mended(stream: Steps, wanted: type[errors.KubeError]) -> None:
    rounds = Rounds([listed()], [stream, open_stream(told("ADDED", namespace("c")))])

    with scripted(rounds) as server:
        async with watching(server) as events:
            got = await take(events, 4)

    assert said(got) == ["LISTED", "DISCONNECTED", "LISTED", "ADDED c"]
    assert type(got[1].error) is wanted


async def test_a_server_that_ends_every_stream_at_once_is_asked_ever_less_often() -> None:
    time = Time()

    with scripted(Rounds([listed()], [ended_stream()])) as server:
        async with watching(server, time=time, relist_seconds=1e9) as events:
            await take(events, 12)

    assert time.slept[:8] == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


async def test_a_version_that_is_too_old_for_ever_is_no_hot_loop() -> None:
    time = Time()

    with scripted(Rounds([listed()], [[status(410, "Expired", "too old")]])) as server:
        async with watching(server, time=time) as events:
            got = await take(events, 12)

    assert said(got) == ["LISTED", "DISCONNECTED"] * 6
    assert time.slept == [0.2, 0.4, 0.8, 1.6, 3.2]


async def test_a_long_outage_is_told_once_and_ends_by_itself() -> None:
    time = Time()
    away = reply(b"", code=503)
    rounds = Rounds([listed(), *[away] * 5, listed()], [[CHUNKED, RESET], open_stream()])

    with scripted(rounds) as server:
        async with watching(server, time=time) as events:
            got = await take(events, 3)

    assert said(got) == ["LISTED", "DISCONNECTED", "LISTED"]
    assert time.slept == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4]


async def test_a_kind_that_is_not_served_yet_is_waited_for() -> None:
    rounds = Rounds([reply(b"404 page not found", code=404), listed()], [open_stream()])

    with scripted(rounds) as server:
        async with watching(server, GPU_CLAIMS) as events:
            got = await take(events, 2)

    assert said(got) == ["DISCONNECTED", "LISTED"]
    assert type(got[0].error) is errors.NotServed


async def test_a_server_that_names_a_time_is_left_alone_for_as_long() -> None:
    time = Time()
    rounds = Rounds([reply(b"", ("Retry-After", "7"), code=429), listed()], [open_stream()])

    with scripted(rounds) as server:
        async with watching(server, time=time, backoff=Backoff(random=lambda: 0.0)) as events:
            await take(events, 2)

    assert time.slept == [7]


async def test_a_stream_that_lived_ends_a_row_of_failures() -> None:
    time = Time()

    def living() -> Iterator[bytes | Act]:
        yield CHUNKED
        time.now += 50
        yield RESET

    rounds = Rounds([listed()], [[CHUNKED, RESET], [CHUNKED, RESET], living(), open_stream()])

    with scripted(rounds) as server:
        async with watching(server, time=time) as events:
            await take(events, 7)

    assert time.slept == [0.2, 0.4, 0.2]


async def test_restarts_leak_neither_sockets_nor_memory_of_the_past() -> None:
    rounds = Rounds([listed(namespace("a"))], [ended_stream(told("ERROR", EXPIRED))])

    with scripted(rounds) as server:
        async with watching(server) as events:
            await take(events, 30)
            before = len(os.listdir("/proc/self/fd"))
            await take(events, 600)
            after = len(os.listdir("/proc/self/fd"))

    assert after <= before + 2


def test_waits_grow_to_a_limit_and_are_spread_over_the_whole_range() -> None:
    backoff = Backoff(first_seconds=1, longest_seconds=8)

    waits = [[Backoff(1, 8).next_seconds() for _ in range(200)], [backoff.next_seconds() for _ in range(200)]]

    assert min(waits[0]) < 0.2
    assert 0.8 < max(waits[0]) <= 1
    assert max(waits[1]) <= 8
    assert min(waits[1][10:]) < 1


def test_a_server_cannot_put_a_client_to_sleep_for_ever() -> None:
    asks = errors.Unavailable("later", retry_after_seconds=999999999)

    assert Backoff(first_seconds=1, longest_seconds=10, random=lambda: 1.0).next_seconds(asks) == 61
