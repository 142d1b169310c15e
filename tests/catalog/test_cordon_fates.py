from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from catalog.cordon_fates import fates
from gpu.corekinds import Taint
from gpu.resources import OnCordon
from portal.mirror import stock
from portal.models import ClaimRecord
from tests.builders import L40S, a_claim, a_class, a_node
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import text_of

OTHER = "nvidia.com/other"


def told(mirrored: Mirrored, objects: Iterable[object]) -> dict[str, str]:
    mirrored(*objects)
    stock.recount()
    claims = list(ClaimRecord.objects.on_node("n1").in_order())
    found = fates("n1", claims)
    return {claim.name: f"{found[claim.pk].pill.word}: {found[claim.pk].words}" for claim in claims}


def on_n1(name: str = "one", **more: object) -> object:
    return a_claim(name, node="n1", **more)  # type: ignore[arg-type]  # the builder's own keywords


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        (
            [a_class(), on_n1(attached_to="vm"), a_node("n2")],
            {"one": "Will stop: VM vm stops when the node is drained"},
        ),
        ([a_class(), on_n1(gpus=2), a_node("n2", gpus=2)], {"one": "Would move: to n2"}),
        ([a_class(), on_n1(gpus=2), a_node("n2", gpus=1)], {"one": "Would stay: no other node has room"}),
        (
            [
                a_class(),
                on_n1(),
                a_node("n2", cordoned=True),
                a_node("n3", taints=[Taint(key="a", effect="NoSchedule")]),
            ],
            {"one": "Would stay: no other node has room"},
        ),
        (
            [a_class(on_cordon=OnCordon.STAY), on_n1(), a_node("n2")],
            {"one": "Would stay: its offer says so"},
        ),
        ([on_n1(), a_node("n2")], {"one": "Would stay: its offer no longer exists"}),
        ([a_class(), on_n1(releasing=True), a_node("n2")], {"one": "Leaving: it is being released"}),
        (
            [a_class(), on_n1("a", gpus=2), on_n1("b", gpus=2), a_node("n2", gpus=3)],
            {"a": "Would move: to n2", "b": "Would stay: no other node has room"},
        ),
        (
            [a_class(), on_n1(), a_node("big", gpus=8), a_node("tight", gpus=1)],
            {"one": "Would move: to tight"},
        ),
        (
            [
                a_class(),
                a_class("other", resource=OTHER),
                on_n1("a", set_name="vm"),
                on_n1("b", set_name="vm", of="other"),
                a_node("half", allocatable={L40S: 1}),
                a_node("whole", allocatable={L40S: 8, OTHER: 8}),
            ],
            {"a": "Would move: to whole", "b": "Would move: to whole"},
        ),
        (
            [
                a_class(),
                on_n1("a", set_name="vm", attached_to="vm"),
                on_n1("b", set_name="vm"),
                a_node("n2"),
            ],
            {
                "a": "Will stop: VM vm stops when the node is drained",
                "b": "Would stay: a VM runs with another hold of its set",
            },
        ),
    ],
)
def test_a_hold_moves_stays_or_its_vm_stops(
    mirrored: Mirrored, objects: list[object], said: dict[str, str]
) -> None:
    assert told(mirrored, [a_node("n1", allocatable={L40S: 8, OTHER: 8}), *objects]) == said


def test_the_node_page_tells_the_fate_of_each_hold(rest: Callable[..., Rest], mirrored: Mirrored) -> None:
    mirrored(a_class(), a_node("n1"), a_node("n2"), on_n1("idle"), on_n1("busy", attached_to="vm-7"))
    stock.recount()

    text = text_of(rest("hoster").client, "/hoster/nodes/n1/")

    assert "If you cordon and drain it" in text
    assert "busy tenant-acme l40s 1 Will stop VM vm-7 stops" in text
    assert "idle tenant-acme l40s 1 Would move to n2" in text


def test_however_many_holds_there_are_the_queries_stay_the_same(
    mirrored: Mirrored, django_assert_num_queries: Callable[..., object]
) -> None:
    nodes = [a_node(f"n{index}", gpus=100) for index in range(1, 30)]
    mirrored(a_class(), *nodes, *(on_n1(f"c{index}") for index in range(40)))
    stock.recount()
    claims = list(ClaimRecord.objects.on_node("n1").in_order())

    with django_assert_num_queries(3):  # type: ignore[attr-defined]  # a context manager
        assert len(fates("n1", claims)) == 40
