from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from gpu.corekinds import Taint
from portal.mirror import stock
from tests.builders import L40S, a_claim, a_class, a_node
from tests.catalog.test_views_lists import fill
from tests.exports import file_of, table
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import offer

As = Callable[..., Rest]
OFFERS = "/hoster/offers/"
NODES = "/hoster/nodes/"


def test_offers_leave_as_csv_as_the_page_shows_them(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        offer("a", free=2, max_count=1),
        offer("b", free=None),
        offer("c", free=5),
        a_node(gpus=8),
        a_claim(of="a", node="n1"),
    )
    stock.recount()

    rows = table(file_of(rest("hoster"), OFFERS, sort="-units_free", export="csv"))

    assert [(row["offer"], row["free"], row["biggest order"]) for row in rows] == [
        ("c", "5", "5"),
        ("a", "2", "1"),
        ("b", "", ""),
    ]
    assert rows[1]["held"] == "1"


def test_offers_leave_as_yaml_that_can_be_applied(rest: As, mirrored: Mirrored) -> None:
    applied = offer("l40s", free=2, memory="46068Mi")
    applied.metadata.annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "ours"}
    mirrored(applied, a_class("other", model="H100", resource="nvidia.com/h"))

    documents = list(yaml.safe_load_all(file_of(rest("hoster"), OFFERS, q="l40s", export="yaml")))

    assert [document["metadata"]["name"] for document in documents] == ["l40s"]
    assert documents[0]["kind"] == "GPUClass"
    assert documents[0]["spec"]["memory"] == "46068Mi"
    assert "status" not in documents[0]
    assert documents[0]["metadata"]["annotations"] == {"note": "ours"}
    assert not {"uid", "resourceVersion", "generation"} & documents[0]["metadata"].keys()


def test_nodes_leave_as_csv_with_a_line_for_each_resource(rest: As, mirrored: Mirrored) -> None:
    tainted = a_node(
        "n1",
        allocatable={L40S: "3", "nvidia.com/b": 2},
        capacity={L40S: "4", "nvidia.com/b": 2},
        taints=[Taint(key="a", value="b", effect="NoSchedule")],
    )
    mirrored(a_class(), a_class("b", resource="nvidia.com/b"), tainted, a_node("n2", allocatable={}))
    stock.recount()

    rows = table(file_of(rest("hoster"), NODES, export="csv"))

    assert [(row["node"], row["resource"], row["units"], row["free"]) for row in rows] == [
        ("n1", L40S, "4", "3"),
        ("n1", "nvidia.com/b", "2", "2"),
        ("n2", "", "0", "0"),
    ]
    assert (rows[0]["note"], rows[0]["taints"]) == ("1 of 4 out of order", "a=b:NoSchedule")


def test_nodes_leave_as_yaml(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_node("n1"), a_node("n2", cordoned=True))

    text = file_of(rest("hoster"), NODES, state="cordoned", export="yaml")

    assert [(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(text)] == [("Node", "n2")]


@pytest.mark.parametrize(
    ("path", "sort", "head"),
    [
        (OFFERS, "name", "offer"),
        (OFFERS, "-units", "offer"),
        (NODES, "name", "node"),
        (NODES, "-free", "node"),
        (NODES, "ready", "node"),
    ],
)
def test_every_row_is_in_the_file_once_whatever_it_is_sorted_by(
    rest: As, mirrored: Mirrored, path: str, sort: str, head: str
) -> None:
    fill(1203)

    names = [row[head] for row in table(file_of(rest("hoster"), path, sort=sort, export="csv"))]

    assert len(names) == 1203
    assert len(set(names)) == 1203


@pytest.mark.parametrize("path", [OFFERS, NODES])
def test_only_the_hoster_gets_these_files(rest: As, mirrored: Mirrored, path: str) -> None:
    assert rest("alice").client.get(path, {"export": "csv"}).status_code == 404
