from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.builders import a_claim, a_class, a_namespace
from tests.catalog.test_views_lists import queries_of
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import text_of

As = Callable[..., Rest]
TENANTS = "/hoster/tenants/"


@pytest.fixture
def world(mirrored: Mirrored) -> None:
    mirrored(
        a_namespace("tenant-acme-lab", ancestors=["tenant-acme"]),
        a_class(),
        a_claim("a", gpus=2),
        a_claim("b", gpus=3),
        a_claim("c", namespace="tenant-globex", gpus=8),
    )


def test_the_hoster_sees_what_every_tenant_holds(rest: As, world: None) -> None:
    text = text_of(rest("hoster").client, TENANTS)

    assert "tenant-acme – 2 5 Order Budget History" in text
    assert "tenant-acme-lab tenant-acme 0 0" in text
    assert "tenant-globex – 1 8" in text


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("sort=-gpus", ["tenant-globex", "tenant-acme", "tenant-acme-lab"]),
        ("sort=-holds", ["tenant-acme", "tenant-globex", "tenant-acme-lab"]),
        ("q=lab", ["tenant-acme-lab"]),
        ("q=acme&sort=-name", ["tenant-acme-lab", "tenant-acme"]),
    ],
)
def test_tenants_are_narrowed_and_sorted(rest: As, world: None, query: str, order: list[str]) -> None:
    html = rest("hoster").client.get(f"{TENANTS}?{query}").content.decode()

    assert re.findall(r'id="tenant-([\w-]+)"', html) == order


def test_tenants_leave_as_csv(rest: As, world: None) -> None:
    response: Any = rest("hoster").client.get(TENANTS, {"export": "csv", "sort": "-gpus"})

    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig"))))
    assert (rows[0]["tenant"], rows[0]["gpus"]) == ("tenant-globex", "8")


def test_the_list_is_the_hosters_alone(rest: As, world: None) -> None:
    assert rest("alice").client.get(TENANTS).status_code == 404


def test_the_same_queries_for_any_number_of_tenants(rest: As, world: None, mirrored: Mirrored) -> None:
    client = rest("hoster").client
    few = queries_of(client, TENANTS)
    mirrored(*(a_namespace(f"tenant-{index:03}") for index in range(60)))

    assert queries_of(client, TENANTS) == few <= 6
