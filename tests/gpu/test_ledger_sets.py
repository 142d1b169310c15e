"""What the ledger decides about sets, and about claims that leave their node."""

from __future__ import annotations

import pytest

from gpu.cells import Cell
from gpu.conditions import HealthyReason
from gpu.fit import Order, Reason
from gpu.ledger import Ledger
from gpu.resources import OnCordon
from gpu.stock import ClassTotals
from tests.builders import (
    ACME,
    L40S,
    NOON,
    a_claim,
    a_class,
    a_launcher,
    a_node,
    refusal_of,
)
from tests.gpu.asking import free_of, reasons_of

# Sets


def test_an_order_of_a_set_has_to_fit_on_the_sets_node(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("first", gpus=1, set_name="vm", node="n2"))

    assert ledger.capacity("l40s", namespace=ACME, set_name="vm").free_on_set_node == 1
    assert reasons_of(ledger, Order(ACME, "l40s", 2, "vm")) == [Reason.SET_NODE_FULL]
    assert ledger.reserve("u1", Order(ACME, "l40s", 1, "vm"), expires_at=10).ok
    assert ledger.decisions() == {"u1": "n2"}
    assert ledger.capacity("l40s", namespace="tenant-globex", set_name="vm").free_on_set_node is None


def test_a_reservation_already_decides_where_its_set_is(ledger: Ledger) -> None:
    ledger.reserve("u1", Order(ACME, "l40s", 2, "vm"), expires_at=10)

    assert reasons_of(ledger, Order(ACME, "l40s", 1, "vm")) == [Reason.SET_NODE_FULL]


def test_a_set_that_waits_is_placed_as_a_whole(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("first", gpus=3, set_name="vm"))
    ledger.set_claim(a_claim("second", gpus=3, set_name="vm"))
    assert reasons_of(ledger, Order(ACME, "l40s", 1, "vm")) == [Reason.SET_NODE_FULL]

    assert ledger.plan(ACME, "first") == "n8"

    assert ledger.decisions() == {f"claim-{ACME}-first": "n8", f"claim-{ACME}-second": "n8"}


def test_a_set_over_two_resources_needs_room_for_both() -> None:
    ledger = Ledger()
    ledger.set_class(a_class("a", resource="v.io/A"))
    ledger.set_class(a_class("b", resource="v.io/B"))
    ledger.set_node(a_node("n1", allocatable={"v.io/A": 8}))
    ledger.set_node(a_node("n2", allocatable={"v.io/A": 8, "v.io/B": 8}))
    ledger.set_node(a_node("n3", allocatable={"v.io/A": 4, "v.io/B": 8}))
    ledger.set_claim(a_claim("one", of="a", gpus=2, set_name="vm"))
    ledger.set_claim(a_claim("two", of="b", gpus=2, set_name="vm"))

    assert ledger.plan(ACME, "two") == ledger.plan(ACME, "one") == "n3"


# Moves


def test_an_unattached_claim_moves_off_a_cordoned_node_and_both_nodes_are_charged_meanwhile(
    ledger: Ledger,
) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))
    ledger.set_node(a_node("n4", gpus=4, cordoned=True))
    assert ledger.leaves_cordoned_node(ACME, "one")
    assert ledger.health(ACME, "one") == (HealthyReason.NODE_CORDONED,)

    assert ledger.plan_move(ACME, "one") == "n2"
    assert ledger.plan_move(ACME, "one") == "n2"
    assert (ledger.cell("n4", L40S).held, ledger.cell("n2", L40S).held) == (2, 2)

    ledger.set_claim(a_claim(gpus=2, node="n2"))
    assert (ledger.cell("n4", L40S).held, ledger.cell("n2", L40S).held) == (0, 2)


def test_a_set_moves_together_or_stays(ledger: Ledger) -> None:
    for name in ("first", "second"):
        ledger.set_claim(a_claim(name, gpus=2, set_name="vm", node="n4"))
    ledger.set_node(a_node("n4", gpus=4, cordoned=True))

    assert ledger.plan_move(ACME, "first") == "n8"
    assert set(ledger.decisions().values()) == {"n8"}
    assert len(ledger.decisions()) == 2


def test_a_claim_stays_when_a_vm_runs_with_its_set_or_nothing_else_has_room(ledger: Ledger) -> None:
    for name in ("first", "second"):
        ledger.set_claim(a_claim(name, gpus=1, set_name="vm", node="n4"))
    ledger.set_pod(a_launcher("vm", claims=["first"], node="n4"))
    ledger.set_claim(a_claim("huge", gpus=8, node="n8"))

    assert ledger.plan_move(ACME, "second") is None
    assert not ledger.leaves_cordoned_node(ACME, "second")
    assert ledger.plan_move(ACME, "huge") is None


def test_one_class_that_says_stay_keeps_the_set(ledger: Ledger) -> None:
    ledger.set_class(a_class("sticky", on_cordon=OnCordon.STAY))
    ledger.set_claim(a_claim("first", set_name="vm", node="n8"))
    ledger.set_claim(a_claim("second", of="sticky", set_name="vm", node="n8"))

    assert not ledger.leaves_cordoned_node(ACME, "first")


def test_the_rest_of_a_set_follows_the_members_that_moved_already(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("moved", set_name="vm", node="n8"))
    ledger.set_claim(a_claim("left", set_name="vm", node="n4"))
    ledger.set_node(a_node("n4", gpus=4, cordoned=True))

    assert ledger.plan_move(ACME, "left") == "n8"
    assert ledger.decisions() == {f"claim-{ACME}-left": "n8"}


def _apart(ledger: Ledger, **nodes: str) -> None:
    for name, node in nodes.items():
        ledger.set_claim(a_claim(name, set_name="vm", node=node))


@pytest.mark.parametrize("asked", ["here", "there", "too"])
def test_a_set_that_is_apart_meets_where_most_of_it_is_whoever_is_asked(ledger: Ledger, asked: str) -> None:
    _apart(ledger, here="n2", there="n4", too="n4")

    assert ledger.plan_move(ACME, asked) == ("n4" if asked == "here" else None)

    assert ledger.decisions() == {f"claim-{ACME}-here": "n4"}


def test_a_set_that_is_apart_meets_where_there_is_room_for_the_rest(ledger: Ledger) -> None:
    _apart(ledger, here="n2", there="n4", too="n4")
    ledger.set_claim(a_claim("full", gpus=2, node="n4"))

    assert ledger.plan_move(ACME, "here") == "n8"
    assert ledger.plan_move(ACME, "there") == ledger.plan_move(ACME, "too") == "n8"


def test_who_is_where_the_others_are_going_stays_and_leaves_them_their_plans(ledger: Ledger) -> None:
    _apart(ledger, here="n2", there="n4", too="n4")
    ledger.plan_move(ACME, "here")
    decided = ledger.decisions()

    assert ledger.plan_move(ACME, "there") is None

    assert ledger.decisions() == decided


def test_what_refused_a_claim_that_is_being_released_refused_the_rest_of_its_set_too(ledger: Ledger) -> None:
    refused = [refusal_of("n2", until=NOON), refusal_of("n4", until=NOON)]
    ledger.set_claim(a_claim("going", set_name="vm", node="n4", refused=refused, releasing=True))
    ledger.set_claim(a_claim("left", set_name="vm", node="n4"))

    assert ledger.plan_move(ACME, "left") == "n8"


def test_a_claim_on_a_node_that_is_gone_keeps_its_units_there_and_may_move(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))
    ledger.take_changes()

    ledger.remove_node("n4")

    assert ledger.cell("n4", L40S) == Cell(held=2, over_committed=2)
    assert HealthyReason.NODE_NOT_READY in ledger.health(ACME, "one")
    assert (ACME, "one") in ledger.take_changes().claims
    assert ledger.claims_on("n4") == ((ACME, "one"),)
    assert ledger.plan_move(ACME, "one") == "n2"


def test_nothing_is_left_behind_when_everything_is_gone(ledger: Ledger) -> None:
    ledger.reserve("u1", Order(ACME, "l40s", 3), expires_at=10)
    ledger.set_claim(a_claim(gpus=3, uid="u1", node="n4"))
    ledger.set_pod(a_launcher(gpus=4, node="n4"))

    ledger.remove_pod(ACME, "virt-launcher-vm")
    ledger.remove_claim(ACME, "one")
    for name in ("n8", "n4", "n2"):
        ledger.remove_node(name)

    assert ledger.cells() == {}
    assert ledger.class_totals("l40s") == ClassTotals()
    assert free_of(ledger) == (0, 0)
    assert ledger.budgets.used(ACME) == 0
