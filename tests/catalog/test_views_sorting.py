from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from portal.mirror import stock
from tests.builders import L40S, a_claim, a_node
from tests.catalog.test_views_lists import fill, pages
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import offer, text_of

As = Callable[..., Rest]


def order_of(rest: Rest, path: str, sort: str, kind: str) -> list[str]:
    html = rest.client.get(f"{path}?sort={sort}").content.decode()
    return re.findall(rf'id="{kind}-([\w-]+)" data-say', html)


@pytest.fixture
def three_offers(mirrored: Mirrored) -> None:
    mirrored(
        offer("a", free=4, display_name="Zeta", resource="nvidia.com/a", model="M2"),
        offer("b", free=None, display_name="alpha", resource="nvidia.com/b", model="M3"),
        offer("c", free=9, most=3, display_name="Beta", resource="nvidia.com/c", model="M1"),
        a_node("n1", allocatable={"nvidia.com/a": "4", "nvidia.com/c": "12"}),
    )
    stock.recount()


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("title", ["b", "c", "a"]),
        ("-free", ["c", "a", "b"]),
        ("free", ["b", "a", "c"]),
        ("units", ["b", "a", "c"]),
        ("-biggest", ["a", "c", "b"]),
        ("state", ["a", "c", "b"]),
        ("nonsense", ["b", "c", "a"]),
    ],
)
def test_the_overview_sorts_by_every_head(rest: As, three_offers: None, sort: str, order: list[str]) -> None:
    assert order_of(rest("hoster"), "/hoster/", sort, "stock") == order


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("-units_free", ["c", "a", "b"]),
        ("units_free", ["b", "a", "c"]),
        ("-units", ["c", "a", "b"]),
        ("biggest", ["b", "c", "a"]),
        ("model", ["c", "a", "b"]),
    ],
)
def test_the_offers_sort_by_numbers_and_put_the_unknown_below_nothing(
    rest: As, three_offers: None, sort: str, order: list[str]
) -> None:
    assert order_of(rest("hoster"), "/hoster/offers/", sort, "offer") == order


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("-units", ["shut", "big", "small"]),
        ("free", ["shut", "small", "big"]),
        ("-held", ["big", "shut", "small"]),
        ("ready", ["big", "shut", "small"]),
    ],
)
def test_nodes_sort_by_their_units_and_a_closed_one_has_nothing_free(
    rest: As, mirrored: Mirrored, sort: str, order: list[str]
) -> None:
    mirrored(
        a_node("big", allocatable={L40S: 8}),
        a_node("small", gpus=2),
        a_node("shut", gpus=16, cordoned=True),
        offer("l40s", free=2),
        a_claim(node="big", gpus=3),
    )
    stock.recount()

    assert order_of(rest("hoster"), "/hoster/nodes/", sort, "node") == order


@pytest.mark.parametrize("sort", ["-free", "units"])
def test_pages_of_nodes_show_each_once_when_sorted_by_a_sum(rest: As, mirrored: Mirrored, sort: str) -> None:
    fill(250)
    client = rest("hoster").client

    shown = [re.findall(r'id="node-(x-\d+)"', html) for html in pages(client, f"/hoster/nodes/?sort={sort}")]

    assert sorted(name for page in shown for name in page) == [f"x-{index:04}" for index in range(250)]
    assert len(shown) == 3


def test_holds_sort_by_the_time_that_they_show(rest: As, mirrored: Mirrored) -> None:
    fill(120)
    client = rest("alice").client

    shown = [
        name
        for html in pages(client, "/tenants/tenant-acme/gpus/?sort=-since")
        for name in re.findall(r'id="hold-tenant-acme-(x-\d+)"', html)
    ]

    assert sorted(shown) == [f"x-{index:04}" for index in range(120)]


def test_the_overview_is_narrowed_by_its_address(rest: As, three_offers: None) -> None:
    client = rest("hoster").client

    found = text_of(client, "/hoster/?q=nvidia.com/c")

    assert "Beta" in found
    assert "Zeta" not in found.split("To look at")[0]
    assert "No offer is like that" in text_of(client, "/hoster/?q=nothing")
