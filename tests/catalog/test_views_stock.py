from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from gpu.corekinds import Taint
from portal.mirror import stock
from portal.models import FeedState
from tests.builders import L40S, a_claim, a_class, a_launcher, a_node, a_pod, a_quota
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import offer, text_of

As = Callable[..., Rest]
NODES = "/hoster/nodes/"


def test_a_node_shows_what_is_held_used_foreign_and_free(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        a_class(),
        a_node("n1", gpus=8),
        a_claim("one", gpus=2, node="n1"),
        a_claim("two", gpus=1, node="n1", attached_to="vm"),
        a_launcher("vm", claims=["two"]),
        a_pod("stray", gpus=1),
    )
    stock.recount()

    html = rest("hoster").client.get(f"{NODES}n1/").content.decode()

    assert 'aria-label="1 in use, 2 held, 1 foreign, 4 free"' in html


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (a_node("n1"), "Ready"),
        (a_node("n1", ready="Unknown"), "Not ready"),
        (a_node("n1", cordoned=True), "Cordoned"),
        (a_node("n1", ready=None), "Not ready"),
        (a_node("n1", allocatable={}), "no GPUs advertised"),
        (a_node("n1", allocatable={L40S: "0"}, capacity={L40S: "16"}), "16 of 16 out of order"),
        (a_node("n1", taints=[Taint(key="a", effect="NoSchedule")]), "a:NoSchedule"),
        (a_node("n1", taints=[Taint(key="a", value="b", effect="NoExecute")]), "a=b:NoExecute"),
        (a_node("n1", taints=[]), "none"),
    ],
)
def test_a_node_says_what_state_it_is_in(rest: As, mirrored: Mirrored, node: object, said: str) -> None:
    mirrored(a_class(), node)
    stock.recount()

    text = text_of(rest("hoster").client, NODES)

    assert said in text
    assert "undefined" not in text
    assert "None" not in text


@pytest.mark.parametrize("closed", [{"cordoned": True}, {"ready": "Unknown"}])
def test_a_node_that_is_closed_has_nothing_free(
    rest: As, mirrored: Mirrored, closed: dict[str, bool | str]
) -> None:
    mirrored(a_class(), a_node("n1", gpus=4, **closed), a_claim(gpus=1, node="n1"))  # type: ignore[arg-type]
    stock.recount()

    html = rest("hoster").client.get(f"{NODES}n1/").content.decode()

    assert 'aria-label="1 held, 3 out of service"' in html
    assert "3 out of service with the node" in html


@pytest.mark.parametrize("path", [NODES, f"{NODES}n1/"])
def test_without_live_data_the_numbers_of_nodes_are_unknown(rest: As, mirrored: Mirrored, path: str) -> None:
    mirrored(a_class(), a_node("n1", gpus=77), a_claim(gpus=33, node="n1"))
    stock.recount()
    client = rest("hoster").client
    assert "77" in text_of(client, path)

    FeedState.objects.update(synced_at=timezone.now() - timedelta(hours=1))
    text = text_of(client, path)

    assert "77" not in text
    assert "44" not in text
    assert "? unknown" in text


def test_a_node_page_lists_the_holds_on_it(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class(), a_node("n1"), a_claim("here", node="n1"), a_claim("there", node="n2"))

    text = text_of(rest("hoster").client, f"{NODES}n1/")

    assert "here" in text.split("Holds on it")[1]
    assert "there" not in text.split("Holds on it")[1]


def test_nodes_are_narrowed_by_words_and_state(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        a_node("gpu-1"),
        a_node("gpu-2", cordoned=True),
        a_node("cpu-1", taints=[Taint(key="x", effect="NoSchedule")]),
    )
    client = rest("hoster").client

    assert "gpu-1" not in text_of(client, f"{NODES}?state=cordoned")
    assert "gpu-2" in text_of(client, f"{NODES}?state=cordoned")
    assert "cpu-1" in text_of(client, f"{NODES}?q=x:No")
    assert "No node is like that" in text_of(client, f"{NODES}?q=nothing")


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([offer("l40s", free=0, served=False)], "l40s is served by no node"),
        ([offer("l40s", free=1, max_count=16), a_node(gpus=8)], "No node has more than 8"),
        ([a_class(), a_node(gpus=1), a_claim(gpus=2, node="n1")], "n1 is over-committed by 1"),
        ([a_quota({"gpu.cozystack.io/typo": "1"})], "gpu.cozystack.io/typo is a budget of no offer"),
        ([a_class(), a_claim()], "1 order waiting for a node"),
        ([a_class(), a_claim(node="gone")], "1 held on gone, which is gone"),
    ],
)
def test_the_overview_names_what_to_look_at(
    rest: As, mirrored: Mirrored, objects: list[object], said: str
) -> None:
    mirrored(*objects)
    stock.recount()

    assert said in text_of(rest("hoster").client, "/hoster/")


def test_the_overview_of_a_cluster_in_order_says_so(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8), a_node(gpus=8))
    stock.recount()

    text = text_of(rest("hoster").client, "/hoster/")

    assert "every offer is served and every number adds up" in text
    assert "not live" in text
