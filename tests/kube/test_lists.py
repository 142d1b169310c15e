from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kube import errors
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NAMESPACES
from tests.kube.scripted import Request, listed, namespace, reply, scripted, status
from tests.kube.verbs import Connect, connect

__all__ = ["connect"]


CLAIM = {"metadata": {"name": "a", "namespace": "t"}, "spec": {"className": "l40s"}}


def pages_that_expire(times: int) -> Any:
    """Serve a, b, c by twos; the token of the first page is too old the first few times."""
    expired = 0

    def script(request: Request) -> Iterator[bytes]:
        nonlocal expired
        if "limit" not in request.query:
            yield listed(namespace("a"), namespace("c"), version="11")
        elif "continue" not in request.query:
            yield listed(namespace("a"), namespace("b"), version="10", continue_="c+/=&1")
        elif expired < times:
            expired += 1
            yield status(410, "Expired", "The provided continue parameter is too old")
        else:
            yield listed(namespace("c"), version="10")

    return script


def test_a_whole_list_is_all_its_pages(connect: Connect) -> None:
    with scripted(pages_that_expire(0)) as server:
        listing = connect(server.url).list_all(
            NAMESPACES, limit=2, label_selector="a=b,c", field_selector="x=y"
        )

    assert [item.object.metadata.name for item in listing.items] == ["a", "b", "c"]
    assert listing.resource_version == "10"
    assert server.requests[1].query == {
        "limit": "2",
        "continue": "c+/=&1",
        "labelSelector": "a=b,c",
        "fieldSelector": "x=y",
    }


def test_a_list_that_expires_between_two_pages_starts_again_without_duplicates_or_gaps(
    connect: Connect,
) -> None:
    with scripted(pages_that_expire(1)) as server:
        listing = connect(server.url).list_all(NAMESPACES, limit=2)

    assert [item.object.metadata.name for item in listing.items] == ["a", "c"]
    assert listing.resource_version == "11"
    assert len(server.requests) == 3


def test_a_list_that_always_expires_gives_up(connect: Connect) -> None:
    def script(request: Request) -> Iterator[bytes]:
        if "continue" in request.query:
            yield status(410, "Expired", "too old")
        else:
            yield listed(namespace("a"), continue_="next")

    with scripted(script) as server, pytest.raises(errors.Gone):
        connect(server.url).list_all(NAMESPACES)

    assert len(server.requests) == 8


def test_an_item_that_does_not_decode_is_reported_by_name_and_spoils_no_other(connect: Connect) -> None:
    bad = {"metadata": {"name": "bad", "namespace": "t"}, "spec": {"className": "l40s", "count": "two"}}

    with scripted(lambda request: [listed(CLAIM, bad, 7)]) as server:
        listing = connect(server.url).list_all(GPU_CLAIMS)

    assert [item.object.metadata.name for item in listing.items] == ["a"]
    assert [(item.namespace, item.name) for item in listing.unreadable] == [("t", "bad"), ("", "")]
    assert "count" in listing.unreadable[0].error


def test_an_empty_list_may_be_null(connect: Connect) -> None:
    with scripted(lambda request: [reply({"metadata": {"resourceVersion": "3"}, "items": None})]) as server:
        listing = connect(server.url).list_all(GPU_CLASSES)

    assert (listing.items, listing.resource_version) == ([], "3")
