"""The checker sees orders that should not have been admitted, and holds that were taken away."""

from __future__ import annotations

from typing import Any

import pytest

from bench.oversell.agreement import differences
from bench.oversell.checker import Order
from bench.oversell.findings import Wrong
from kube.kinds import RESOURCE_QUOTAS
from tests.system.stage import ACME, CHILD, Stage, quota_of


def rest(stage: Stage) -> list[Wrong]:
    """Tell what does not agree once everything rests."""
    return [wrong for wrong, _ in differences(stage.checker)]


@pytest.mark.parametrize("is_dry", [False, True])
@pytest.mark.parametrize(
    ("class_name", "count"), [("no-such-offer", 1), ("gpu", 5)], ids=["no such offer", "no such node"]
)
def test_an_order_that_can_never_fit_and_is_admitted_is_oversold(
    stage: Stage, class_name: str, count: int, is_dry: bool
) -> None:
    stage.node("n2")  # four here and four there are not eight on one

    stage.wait(10)
    stage.admit("a", count, class_name=class_name, dry_run=is_dry)

    assert stage.found == {Wrong.OVERSOLD: 1}


def test_more_than_an_order_may_be_of_is_oversold_unless_that_was_allowed_a_moment_ago(stage: Stage) -> None:
    stage.offer(maxCount=1)
    stage.wait(0.5)
    stage.admit("a", 2)
    assert stage.found == {}

    stage.wait(10)
    stage.admit("b", 2)
    assert stage.found == {Wrong.OVERSOLD: 1}


def test_a_dry_run_beyond_the_budget_is_an_overrun_unless_units_were_released_meanwhile(stage: Stage) -> None:
    stage.tell(RESOURCE_QUOTAS, quota_of(ACME, {"gpu.cozystack.io/total": "3"}))
    stage.claim("held", 2)
    stage.wait(10)
    stage.admit("a", 2, dry_run=True)
    stage.claim("held", 2, type_="DELETED")
    stage.wait(3)
    assert stage.found == {}

    stage.claim("held", 2)
    stage.wait(10)
    stage.admit("b", 2, dry_run=True)
    stage.wait(3)
    assert stage.found == {Wrong.OVERRUN: 1}


def test_a_dry_run_is_no_overrun_when_the_budget_was_raised_before_it_was_answered(stage: Stage) -> None:
    stage.tell(RESOURCE_QUOTAS, quota_of(ACME, {"gpu.cozystack.io/total": "1"}))
    stage.wait(10)
    order = stage.ask("a", 2, dry_run=True)
    stage.tell(RESOURCE_QUOTAS, quota_of(ACME, {"gpu.cozystack.io/total": "2"}))
    stage.checker.created(order, "", at=stage.now)
    stage.wait(3)

    assert stage.found == {}


def test_more_orders_without_a_node_than_there_is_room_for_are_oversold(stage: Stage) -> None:
    stage.claim("a", 3, node=None)
    assert stage.found == {}

    stage.claim("b", 2, node=None)
    assert stage.found == {Wrong.OVERSOLD: 1}


def test_whoever_waits_when_all_rests_was_admitted_too_much(stage: Stage) -> None:
    stage.offer(free=0, most=0)
    stage.claim("a", 3)
    stage.claim("b", 1)
    stage.claim("c", 2, node=None, set_name="vm")

    assert Wrong.OVERSOLD in rest(stage)


def test_a_claim_of_a_set_that_waits_beside_enough_room_is_lost(stage: Stage) -> None:
    stage.claim("a", 2, node=None, set_name="vm")

    assert Wrong.LOST in rest(stage)


def test_a_set_that_rests_on_two_nodes_is_lost(stage: Stage) -> None:
    stage.node("n2")
    stage.claim("a", set_name="vm")
    stage.claim("b", set_name="vm", node="n2")

    assert Wrong.LOST in rest(stage)


@pytest.mark.parametrize(
    "spec", [{"unschedulable": True}, {"taints": [{"key": "x", "effect": "NoSchedule"}]}]
)
def test_a_bind_to_a_node_that_does_not_serve_the_class_is_oversold(stage: Stage, spec: Any) -> None:
    stage.node("n2", **spec)
    stage.claim("early", node="n2")
    assert stage.found == {}, "it may have been decided before"

    stage.wait(10)
    stage.claim("late", node="n2")
    assert stage.found == {Wrong.OVERSOLD: 1}


def test_a_hold_that_loses_its_node_is_lost(stage: Stage) -> None:
    stage.claim("a")
    stage.node(units=0)

    stage.claim("a", node=None)

    assert stage.found[Wrong.LOST] == 1


@pytest.mark.parametrize("set_name", [None, "vm"])
def test_a_claim_of_a_class_that_stays_may_not_leave_a_cordoned_node(
    stage: Stage, set_name: str | None
) -> None:
    stage.offer(onCordon="Stay")
    stage.node("n2")
    stage.claim("a", set_name=set_name)
    stage.node("n1", unschedulable=True)

    stage.claim("a", node="n2", set_name=set_name)

    assert stage.found == {Wrong.DUPLICATE: 1}


def test_a_set_may_leave_a_node_out_of_service_one_after_the_other_and_no_good_one(stage: Stage) -> None:
    stage.node("n2")
    stage.wait(20)
    for name in ("a", "b"):
        stage.claim(name, set_name="vm")
    stage.node("n1", unschedulable=True)
    stage.claim("a", node="n2", set_name="vm")
    stage.node("n1")
    stage.wait(20)
    stage.claim("b", node="n2", set_name="vm")
    assert stage.found == {}

    stage.claim("b", node="n1", set_name="vm")
    assert stage.found == {Wrong.DUPLICATE: 1}


def test_a_refusal_of_the_first_order_of_a_set_is_wrong_when_it_fitted(stage: Stage) -> None:
    order = stage.ask("a", 2, set_name="vm")
    stage.checker.refused(order, "NoCapacity", at=stage.now)
    stage.wait(2)

    assert stage.found == {Wrong.REFUSED: 1}


def test_a_refusal_is_right_while_another_order_may_say_where_the_set_is(stage: Stage) -> None:
    first = stage.ask("a", 1, set_name="vm")
    second = stage.ask("b", 2, set_name="vm")
    stage.checker.refused(first, "NoCapacity", at=stage.now)
    stage.checker.refused(second, "NoCapacity", at=stage.now)
    stage.wait(2)

    assert stage.found == {}


def test_an_order_that_gets_no_answer_is_refused_wrongly_where_there_are_no_faults(stage: Stage) -> None:
    order = Order((ACME, "a"), "gpu")
    stage.checker.asked(order, at=stage.now)
    stage.checker.unanswered(order, "time-out", at=stage.now)
    assert stage.found == {Wrong.REFUSED: 1}

    stage.checker.refusals.tolerates_unknown = True
    stage.checker.asked(order, at=stage.now)
    stage.checker.unanswered(order, "time-out", at=stage.now)
    assert stage.found == {Wrong.REFUSED: 1}


def test_where_there_are_faults_a_claim_that_was_bound_and_went_excuses_nobody(stage: Stage) -> None:
    stage.checker.refusals.tolerates_unknown = True
    stage.ask("a", 4)
    stage.claim("a", 4, node=None)
    stage.claim("a", 4)
    stage.claim("a", 4, type_="DELETED")
    stage.wait(5)

    order = stage.ask("b", 4)
    stage.checker.refused(order, "NoCapacity", at=stage.now)
    stage.wait(5)

    assert stage.found == {Wrong.REFUSED: 1}


def test_use_that_is_not_published_at_all_is_told(stage: Stage) -> None:
    stage.offer(free=4, most=4)
    stage.tell(RESOURCE_QUOTAS, quota_of(CHILD, {"requests.gpu.cozystack.io/total": "1"}))
    assert rest(stage) == []

    stage.tell(RESOURCE_QUOTAS, quota_of(ACME, {"limits.gpu.cozystack.io/total": "4"}))
    assert rest(stage) == [Wrong.LEAKED]
