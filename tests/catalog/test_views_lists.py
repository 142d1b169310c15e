"""Every list: few queries whatever its length, keyset pages, each row once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from claims.models import EventKind, OrderEvent
from gpu.conditions import Phase
from portal.models import ClaimRecord, ClassRecord, ClassStock, NodeRecord, NodeStock
from tests.builders import NOON, a_claim, a_class, a_namespace, a_node, a_quota
from tests.fixtures.rest import Mirrored, Rest, raw_of

As = Callable[..., Rest]
LISTS = {
    "/": "alice",
    "/tenants/tenant-acme/gpus/": "alice",
    "/tenants/tenant-acme/history/": "alice",
    "/hoster/": "hoster",
    "/hoster/offers/": "hoster",
    "/hoster/nodes/": "hoster",
    "/hoster/holds/": "hoster",
    "/tenants/tenant-acme/budget/": "alice",
    "/api/v1/classes/": "alice",
    "/api/v1/tenants/": "alice",
    "/api/v1/tenants/tenant-acme/claims/": "alice",
    "/api/v1/tenants/tenant-acme/budget/": "alice",
    "/api/v1/tenants/tenant-acme/events/": "alice",
    "/api/v1/claims/": "hoster",
    "/api/v1/nodes/": "hoster",
}
MOST_QUERIES = 6
"""Of one page: session, user with groups, freshness and whatever the page is about."""


def fill(count: int) -> None:
    """Put this many rows of everything into the mirror, as its writer would."""
    common = {"mirrored_at": NOON, "version": 1, "resource_version": "1", "created_at": NOON}
    names = [f"x-{index:04}" for index in range(count)]
    ClassRecord.objects.bulk_create(
        ClassRecord(
            name=name,
            uid=name,
            vendor="nvidia",
            model="L40S",
            mode="passthrough",
            free=4,
            max_free_per_node=2,
            resource_name=f"nvidia.com/{name}",
            body=raw_of(a_class(name), version=1),
            **common,
        )
        for name in names
    )
    ClaimRecord.objects.bulk_create(
        ClaimRecord(
            namespace="tenant-acme",
            name=name,
            uid=name,
            class_name=name,
            count=index % 7 + 1,
            phase=Phase.HELD,
            node_name=name,
            bound_at=NOON,
            body=raw_of(a_claim(name, of=name, node=name), version=1),
            **common,
        )
        for index, name in enumerate(names)
    )
    NodeRecord.objects.bulk_create(
        NodeRecord(
            name=name, uid=name, ready=True, cordoned=False, body=raw_of(a_node(name), version=1), **common
        )
        for name in names
    )
    figures = {
        "capacity": 8,
        "allocatable": 8,
        "held": 1,
        "in_use": 0,
        "foreign": 0,
        "free": 7,
        "over_committed": 0,
    }
    NodeStock.objects.bulk_create(NodeStock(node=name, resource="nvidia.com/x", **figures) for name in names)
    ClassStock.objects.bulk_create(
        ClassStock(class_name=name, units=8, out_of_service=0, held=1, in_use=0, foreign=0, free=7)
        for name in names
    )
    OrderEvent.objects.bulk_create(
        OrderEvent(
            at=NOON + timedelta(seconds=index // 3),
            kind=EventKind.ORDERED,
            namespace="tenant-acme",
            claim_name=name,
            claim_uid=name,
            class_name=name,
            count=1,
        )
        for index, name in enumerate(names)
    )


def queries_of(client: Client, path: str) -> int:
    client.get(path)  # what is cached for good is cached now
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


@pytest.mark.parametrize(("path", "who"), LISTS.items())
def test_a_list_of_1000_costs_the_queries_of_a_list_of_10(
    rest: As, mirrored: Mirrored, path: str, who: str
) -> None:
    mirrored(
        a_namespace("tenant-acme-lab", ancestors=["tenant-acme"]), a_quota({"gpu.cozystack.io/total": 9})
    )
    client = rest(who).client
    fill(10)
    few = queries_of(client, path)
    assert few <= MOST_QUERIES
    for model in (ClassRecord, ClaimRecord, NodeRecord, NodeStock, ClassStock, OrderEvent):
        model.objects.all().delete()
    fill(1000)

    assert queries_of(client, path) == few


def pages(client: Client, path: str) -> Iterator[str]:
    """Follow "Next page" to the end."""
    address = path
    for _ in range(30):
        html = client.get(address).content.decode()
        yield html
        following = re.search(r'href="(\?[^"]*)" rel="next"', html)
        if following is None:
            return
        address = path.partition("?")[0] + following[1].replace("&amp;", "&")
    raise AssertionError("the pages never end")


@pytest.mark.parametrize("sort", ["name", "-name", "count", "-count", "phase", "class_name"])
def test_pages_show_every_row_once_in_any_order(rest: As, mirrored: Mirrored, sort: str) -> None:
    fill(250)
    client = rest("alice").client

    shown = [
        re.findall(r'id="hold-tenant-acme-(x-\d+)"', html)
        for html in pages(client, f"/tenants/tenant-acme/gpus/?sort={sort}")
    ]

    assert [len(page) for page in shown] == [100, 100, 50]
    assert len({name for page in shown for name in page}) == 250


def test_history_pages_keep_their_order_over_events_of_one_moment(rest: As, mirrored: Mirrored) -> None:
    fill(250)
    client = rest("alice").client

    shown = [
        name
        for html in pages(client, "/tenants/tenant-acme/history/")
        for name in re.findall(r">(x-\d+)</td>\s*<td data-label=\"Offer\"", html)
    ]

    assert shown == sorted(shown, reverse=True)
    assert len(shown) == 250


@pytest.mark.parametrize("after", ["x", "!!", "WzFd", "W10", "a" * 5000])
def test_a_forged_place_in_a_list_is_its_beginning(rest: As, mirrored: Mirrored, after: str) -> None:
    fill(3)

    html = rest("alice").client.get(f"/tenants/tenant-acme/gpus/?after={after}").content.decode()

    assert re.findall(r'id="hold-tenant-acme-(x-\d+)"', html) == ["x-0000", "x-0001", "x-0002"]
