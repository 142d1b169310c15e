"""The checker sees what it is there for: each kind of wrong, planted into what the API server tells."""

from __future__ import annotations

from typing import Any

import pytest

from bench.oversell.agreement import differences
from bench.oversell.feed import Told
from bench.oversell.findings import Wrong
from kube.kinds import GPU_CLAIMS, RESOURCE_QUOTAS
from tests.system.stage import ACME, CHILD, Stage, claim_of, quota_of


def test_a_node_that_is_exactly_full_is_not_oversold(stage: Stage) -> None:
    stage.claim("a", 3)
    stage.claim("b", 1)

    assert stage.found == {}


def test_one_unit_more_than_the_node_has_is_oversold(stage: Stage) -> None:
    stage.claim("a", 3)
    stage.claim("b", 2)

    assert stage.found == {Wrong.OVERSOLD: 1}


def test_devices_that_vanish_under_a_hold_are_not_oversold(stage: Stage) -> None:
    stage.claim("a", 4)
    stage.node(units=1)

    assert stage.found == {}


def test_devices_that_vanished_a_moment_ago_may_still_have_been_sold_and_later_not(stage: Stage) -> None:
    stage.node(units=1)
    stage.now += 0.5
    stage.claim("a", 2)
    assert stage.found == {}

    stage.now += 1
    stage.claim("b", 1)
    assert stage.found == {Wrong.OVERSOLD: 1}


def test_an_order_sent_before_its_budget_was_lowered_is_no_overrun_however_late_it_is_stored(
    stage: Stage,
) -> None:
    stage.tell(RESOURCE_QUOTAS, quota_of(ACME, {"gpu.cozystack.io/total": "4"}))
    stage.wait(10)
    stage.ask("a", 4)
    stage.tell(RESOURCE_QUOTAS, quota_of(ACME, {"gpu.cozystack.io/total": "1"}))
    stage.wait(5)

    stage.claim("a", 4)
    assert stage.found == {}
    stage.claim("b", 1)
    assert stage.found[Wrong.OVERRUN] == 1


def test_a_budget_is_counted_over_the_tree_without_what_is_carved_out(stage: Stage) -> None:
    stage.tell(RESOURCE_QUOTAS, quota_of(ACME, {"limits.gpu.cozystack.io/total": "3"}))
    stage.tell(RESOURCE_QUOTAS, quota_of(CHILD, {"gpu.cozystack.io/total": "1"}))
    stage.wait(10)

    stage.claim("a", 2, node=None)
    stage.claim("b", 1, node=None, namespace=CHILD)
    assert stage.found == {}
    stage.claim("c", 1, node=None)
    assert stage.found == {Wrong.OVERRUN: 1}


def test_a_budget_lowered_below_its_use_is_no_overrun_until_somebody_orders(stage: Stage) -> None:
    stage.claim("a", 2)
    stage.tell(RESOURCE_QUOTAS, quota_of(ACME, {"gpu.cozystack.io/gpu": "1"}))
    stage.wait(10)
    assert stage.found == {}

    stage.claim("b", 1, node=None)
    assert stage.found == {Wrong.OVERRUN: 1}


def test_a_claim_that_goes_unasked_is_lost(stage: Stage) -> None:
    order = stage.ask("a")
    stage.checker.created(order, "uid-a", at=stage.now)
    stage.claim("a")

    stage.claim("a", type_="DELETED")

    assert stage.found == {Wrong.LOST: 1}


def test_a_claim_that_is_missing_from_a_list_is_lost_and_one_that_was_given_back_is_not(stage: Stage) -> None:
    for name in ("a", "b"):
        stage.checker.created(stage.ask(name), f"uid-{name}", at=stage.now)
        stage.claim(name)
    stage.checker.leaves((ACME, "b"))

    stage.checker.take(Told(GPU_CLAIMS, stage.now, listed=[]))

    assert stage.found == {Wrong.LOST: 1}


def test_a_list_is_judged_as_a_whole(stage: Stage) -> None:
    stage.claim("a", 4)

    stage.checker.take(Told(GPU_CLAIMS, stage.now, listed=[claim_of("b", 4)]))

    assert stage.found == {}


def test_an_order_that_is_there_twice_is_a_duplicate(stage: Stage) -> None:
    order = stage.ask("a")
    stage.checker.created(order, "one", at=stage.now)
    stage.checker.created(order, "two", at=stage.now)

    assert stage.found == {Wrong.DUPLICATE: 1}


def test_a_claim_that_leaves_a_good_node_is_a_duplicate_and_one_that_leaves_a_cordoned_one_is_not(
    stage: Stage,
) -> None:
    stage.node("n2")
    stage.wait(10)
    stage.claim("a")
    stage.claim("a", node="n2")
    assert stage.found == {Wrong.DUPLICATE: 1}

    stage.node("n2", unschedulable=True)
    stage.claim("a", node="n1")
    assert stage.found == {Wrong.DUPLICATE: 1}


@pytest.mark.parametrize("is_dry", [False, True])
def test_a_refusal_of_what_fitted_all_the_time_is_wrong(stage: Stage, is_dry: bool) -> None:
    order = stage.ask("a", 4, dry_run=is_dry)
    stage.now += 0.01
    stage.checker.refused(order, "NoCapacity", at=stage.now)
    assert stage.found == {}, "what was told late may excuse it"

    stage.wait(1.1)

    assert stage.found == {Wrong.REFUSED: 1}


def test_a_refusal_is_right_when_it_fitted_only_most_of_the_time(stage: Stage) -> None:
    order = stage.ask("a", 4)
    stage.claim("b", 1)
    stage.claim("b", 1, type_="DELETED")
    stage.checker.refused(order, "NoCapacity", at=stage.now)

    stage.wait(1.1)

    assert stage.found == {}


def test_a_refusal_is_right_while_another_order_may_have_been_admitted(stage: Stage) -> None:
    other = stage.ask("b", 1)
    order = stage.ask("a", 4)
    stage.checker.refused(order, "NoCapacity", at=stage.now)
    stage.checker.refused(other, "NoCapacity", at=stage.now)

    stage.wait(1.1)

    assert stage.found == {}


@pytest.mark.parametrize(
    "change",
    [
        lambda stage: stage.node(units=8),
        lambda stage: stage.tell(RESOURCE_QUOTAS, quota_of(ACME, {"gpu.cozystack.io/total": "9"})),
        lambda stage: stage.claim("c", type_="DELETED"),
    ],
)
def test_a_refusal_is_right_when_room_came_up_too_late_to_be_known(stage: Stage, change: Any) -> None:
    stage.claim("c", 1)
    stage.wait(10)
    change(stage)

    order = stage.ask("a", 4)
    stage.checker.refused(order, "NoCapacity", at=stage.now)
    stage.wait(1.1)

    assert stage.found == {}


def test_what_rests_and_does_not_agree_is_told(stage: Stage) -> None:
    stage.tell(
        RESOURCE_QUOTAS,
        quota_of(ACME, {"gpu.cozystack.io/total": "4"}, {"gpu.cozystack.io/total": "3"}),
    )
    stage.checker.created(stage.ask("gone"), "uid", at=stage.now)
    stage.claim("left")
    stage.checker.leaves((ACME, "left"))
    stage.offer(free=4, most=4)
    assert [wrong for wrong, _ in differences(stage.checker)] == [
        Wrong.LOST,
        Wrong.LEAKED,
        Wrong.LEAKED,
        Wrong.LEAKED,
    ]

    stage.claim("left", node=None)
    assert "uid-left" not in str(list(differences(stage.checker)))
    assert (Wrong.LOST, f"{(ACME, 'left')} waits for 1 of gpu, and they are there") in list(
        differences(stage.checker)
    )
