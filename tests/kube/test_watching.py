from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kube import errors
from kube.kinds import GPU_CLAIMS
from tests.kube.rounds import EXPIRED, Rounds, Steps, Time, ended_stream, open_stream, said, take, watching
from tests.kube.scripted import (
    CHUNKED,
    END,
    RESET,
    Act,
    chunk,
    line,
    listed,
    namespace,
    scripted,
    status,
    told,
)


async def test_a_watch_lists_and_then_follows_from_the_lists_version() -> None:
    rounds = Rounds(
        [listed(namespace("a"), version="10")],
        [
            open_stream(
                told("MODIFIED", namespace("a", version="11")),
                told("ADDED", namespace("b", version="12")),
                told("DELETED", namespace("a", version="13")),
            )
        ],
    )

    with scripted(rounds) as server:
        async with watching(server, label_selector="x=y") as events:
            got = await take(events, 5)

    assert said(got) == ["ADDED a", "LISTED", "MODIFIED a", "ADDED b", "DELETED a"]
    assert got[1].resource_version == "10"
    assert got[4].object is not None
    assert json.loads(got[3].raw or b"") == namespace("b", version="12")
    assert server.requests[1].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "10",
        "timeoutSeconds": "50",
        "labelSelector": "x=y",
    }


@pytest.mark.parametrize(
    "expiry",
    [
        [status(410, "Expired", "too old resource version: 10 (900)")],
        ended_stream(told("ERROR", EXPIRED)),
        open_stream(told("ERROR", EXPIRED)),
    ],
    ids=["as a status", "inside the stream", "inside a stream that stays open"],
)
async def test_a_version_that_is_too_old_leads_to_a_new_list_that_tells_what_is_gone(expiry: Steps) -> None:
    rounds = Rounds(
        [
            listed(namespace("a"), namespace("b"), version="10"),
            listed(namespace("a", version="19"), version="20"),
        ],
        [expiry, open_stream(told("ADDED", namespace("c")))],
    )

    with scripted(rounds) as server:
        async with watching(server) as events:
            got = await take(events, 8)

    assert said(got) == [
        "ADDED a",
        "ADDED b",
        "LISTED",
        "DISCONNECTED",
        "MODIFIED a",
        "DELETED b",
        "LISTED",
        "ADDED c",
    ]
    assert isinstance(got[3].error, errors.Gone)
    assert (got[5].object, got[5].uid) == (None, "uid-b")
    assert server.requests[-1].query["resourceVersion"] == "20"


async def test_an_object_made_anew_under_its_name_unnoticed_is_told_as_two() -> None:
    rounds = Rounds(
        [listed(namespace("a", uid="1")), listed(namespace("a", uid="2"))],
        [[CHUNKED, RESET], open_stream(told("ADDED", namespace("a", uid="3")))],
    )

    with scripted(rounds) as server:
        async with watching(server) as events:
            got = await take(events, 8)

    assert [(str(event.type), event.uid) for event in got] == [
        ("ADDED", "1"),
        ("LISTED", ""),
        ("DISCONNECTED", ""),
        ("DELETED", "1"),
        ("ADDED", "2"),
        ("LISTED", ""),
        ("DELETED", "2"),
        ("ADDED", "3"),
    ]


async def test_events_are_whole_wherever_the_chunks_are_cut() -> None:
    body = b"".join(line("ADDED", namespace(name)) for name in ("a", "bü", "c")).replace(
        b"\\u00fc", "ü".encode()
    )
    cuts: list[Steps] = [
        open_stream(*(chunk(body[at : at + 1]) for at in range(len(body)))),
        open_stream(chunk(body)),
        open_stream(chunk(b"\n" + body[:-5]), chunk(body[-5:] + b"\n")),
    ]

    for stream in cuts:
        with scripted(Rounds([listed()], [stream])) as server:
            async with watching(server) as events:
                assert said(await take(events, 4)) == ["LISTED", "ADDED a", "ADDED bü", "ADDED c"]


async def test_an_object_as_large_as_the_api_server_stores_fits_through() -> None:
    large = namespace("large")
    large["metadata"]["annotations"] = {"x": "y" * 1_500_000}
    data = line("ADDED", large)
    stream = open_stream(*(chunk(data[at : at + 16384]) for at in range(0, len(data), 16384)))

    with scripted(Rounds([listed()], [stream])) as server:
        async with watching(server) as events:
            got = await take(events, 2)

    assert len(got[1].raw or b"") > 1_500_000


async def test_a_bookmark_shows_life_and_moves_the_version_that_is_resumed_from() -> None:
    bookmark = {"kind": "Namespace", "metadata": {"resourceVersion": "50"}}
    rounds = Rounds(
        [listed(version="10")],
        [ended_stream(told("BOOKMARK", bookmark)), open_stream(told("ADDED", namespace("a")))],
    )

    with scripted(rounds) as server:
        async with watching(server) as events:
            got = await take(events, 4)

    assert said(got) == ["LISTED", "ALIVE", "ALIVE", "ADDED a"]
    assert got[1].resource_version == "50"
    assert [request.query.get("resourceVersion") for request in server.requests] == [None, "10", "50"]


async def test_a_stream_that_the_server_ends_in_good_order_is_resumed_without_a_new_list() -> None:
    rounds = Rounds(
        [listed(version="10")], [ended_stream(told("ADDED", namespace("a", version="11"))), open_stream()]
    )

    with scripted(rounds) as server:
        async with watching(server, stream_seconds=0.3, grace_seconds=0.2) as events:
            assert said(await take(events, 3)) == ["LISTED", "ADDED a", "ALIVE"]
            assert said(await take(events, 1)) == ["DISCONNECTED"]

    assert rounds.lists == 1
    assert server.requests[2].query["resourceVersion"] == "11"


async def test_everything_is_listed_anew_from_time_to_time_without_a_loss() -> None:
    time = Time()

    def living() -> Iterator[bytes | Act]:
        yield CHUNKED
        time.now += 50
        yield END

    rounds = Rounds(
        [listed(namespace("a"), namespace("b")), listed(namespace("a"))],
        [living(), living(), living(), open_stream()],
    )

    with scripted(rounds) as server:
        async with watching(server, time=time, relist_seconds=120) as events:
            got = await take(events, 9)

    assert said(got) == [
        "ADDED a",
        "ADDED b",
        "LISTED",
        "ALIVE",
        "ALIVE",
        "ALIVE",
        "MODIFIED a",
        "DELETED b",
        "LISTED",
    ]
    assert time.slept == []


async def test_pages_that_expire_half_way_are_read_again_in_one_piece() -> None:
    rounds = Rounds(
        [
            listed(namespace("a"), namespace("gone"), version="10", continue_="next"),
            status(410, "Expired", "the continue parameter is too old"),
            listed(namespace("a"), namespace("b"), version="12"),
        ],
        [open_stream()],
    )

    with scripted(rounds) as server:
        async with watching(server, page_size=2) as events:
            got = await take(events, 6)

    assert said(got) == ["ADDED a", "ADDED gone", "MODIFIED a", "ADDED b", "DELETED gone", "LISTED"]
    assert got[-1].resource_version == "12"
    assert [request.query.get("limit") for request in server.requests[:3]] == ["2", "2", None]


def claim(name: str, *, count: object = 1) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "t", "uid": f"uid-{name}", "resourceVersion": "5"}
    return {"metadata": metadata, "spec": {"className": "l40s", "count": count}}


async def test_an_object_that_does_not_decode_is_told_and_is_not_taken_for_deleted() -> None:
    rounds = Rounds(
        [listed(claim("a"), claim("b", count="two")), listed(claim("a", count=-1), claim("b", count="two"))],
        [
            open_stream(
                told("MODIFIED", claim("a", count={})),
                told("DELETED", claim("b", count="two")),
                chunk(b"x\n"),
            ),
            open_stream(),
        ],
    )

    with scripted(rounds) as server:
        async with watching(server, GPU_CLAIMS) as events:
            got = await take(events, 9)

    assert said(got) == [
        "ADDED a",
        "UNREADABLE b",
        "LISTED",
        "UNREADABLE a",
        "DELETED b",
        "DISCONNECTED",
        "UNREADABLE a",
        "UNREADABLE b",
        "LISTED",
    ]
    assert got[1].object is None
    assert got[1].uid == "uid-b"
    assert "count" in str(got[1].error)
    assert json.loads(got[1].raw or b"") == claim("b", count="two")


async def test_a_watch_that_is_closed_hangs_up() -> None:
    with scripted(Rounds([listed()], [open_stream()])) as server:
        async with watching(server) as events:
            await take(events, 1)
            pending = asyncio.ensure_future(anext(events))
            await asyncio.to_thread(server.wait_for, requests=2)
            pending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await pending

        await asyncio.to_thread(server.wait_for, open_connections=0)
