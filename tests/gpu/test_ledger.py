from __future__ import annotations

from datetime import timedelta

import pytest

from gpu.cells import Cell
from gpu.conditions import HealthyReason
from gpu.corekinds import Taint
from gpu.eligibility import NodeReason
from gpu.fit import Order, Reason
from gpu.health import Harm
from gpu.ledger import Ledger
from gpu.resources import Mode, OnCordon
from gpu.stock import ClassTotals
from tests.builders import (
    ACME,
    L40S,
    NOON,
    a_claim,
    a_class,
    a_launcher,
    a_namespace,
    a_node,
    a_pod,
    a_quota,
    refusal_of,
)


@pytest.fixture
def ledger() -> Ledger:
    """One offer on three nodes of 8, 4 and 2 units."""
    ledger = Ledger()
    ledger.set_class(a_class())
    for name, gpus in (("n8", 8), ("n4", 4), ("n2", 2)):
        ledger.set_node(a_node(name, gpus=gpus))
    ledger.take_changes()
    return ledger


def _free(ledger: Ledger, class_name: str = "l40s") -> tuple[int | None, int | None]:
    capacity = ledger.capacity(class_name)
    return capacity.free, capacity.max_free_per_node


def _reasons(ledger: Ledger, order: Order) -> list[Reason]:
    return [refusal.reason for refusal in ledger.check(order).refusals]


# Stock


def test_free_is_the_sum_over_serving_nodes_and_the_largest_of_them(ledger: Ledger) -> None:
    ledger.set_node(a_node("cordoned", gpus=8, cordoned=True))

    assert _free(ledger) == (14, 8)
    assert ledger.serving_nodes("l40s") == ("n2", "n4", "n8")
    assert ledger.class_totals("l40s") == ClassTotals(units=22, out_of_service=8, free=14)


def test_the_free_units_of_an_unknown_class_are_unknown(ledger: Ledger) -> None:
    assert _free(ledger, "h200") == (None, None)


def test_a_node_with_dead_devices_counts_them_as_out_of_service() -> None:
    ledger = Ledger()
    ledger.set_class(a_class())
    ledger.set_node(a_node("n1", allocatable={L40S: "0"}, capacity={L40S: "16"}))

    assert _free(ledger) == (0, 0)
    assert ledger.capacity("l40s").has_eligible_node
    assert ledger.class_totals("l40s") == ClassTotals(units=16, out_of_service=16)


def test_a_plugin_that_restarts_over_commits_for_a_while_and_releases_nothing(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=3, node="n4"))

    for allocatable in ({L40S: "1"}, {L40S: "0"}, {}):
        ledger.set_node(a_node("n4", allocatable=allocatable, capacity={L40S: "4"}))
        cell = ledger.cell("n4", L40S)
        assert (cell.held, cell.free) == (3, 0)
        assert cell.over_committed == 3 - int(allocatable.get(L40S, 0))
        assert HealthyReason.OVER_COMMITTED in ledger.health(ACME, "one")

    ledger.set_node(a_node("n4", gpus=4))
    assert ledger.cell("n4", L40S) == Cell(capacity=4, allocatable=4, held=3, free=1)
    assert ledger.health(ACME, "one") == ()


def test_one_unreadable_value_spoils_that_value_only() -> None:
    ledger = Ledger()
    ledger.set_class(a_class("a", resource="v.io/A"))
    ledger.set_class(a_class("b", resource="v.io/B"))
    ledger.set_node(a_node("n1", allocatable={"v.io/A": "many", "v.io/B": "1k", "memory": "12 apples"}))

    assert _free(ledger, "a") == (0, 0)
    assert _free(ledger, "b") == (1000, 1000)


def test_a_heartbeat_changes_nothing(ledger: Ledger) -> None:
    ledger.set_node(a_node("n8", gpus=8))

    assert not ledger.take_changes()


def test_a_cell_is_announced_even_when_only_its_allocatable_changed(ledger: Ledger) -> None:
    ledger.set_pod(a_pod(gpus=9, node="n4"))
    ledger.take_changes()

    ledger.set_node(a_node("n4", allocatable={L40S: 3}, capacity={L40S: 4}))

    assert ledger.take_changes().cells == {("n4", L40S)}


def test_resources_that_no_class_sells_are_not_counted(ledger: Ledger) -> None:
    ledger.set_node(a_node("n8", allocatable={L40S: 8, "devices.kubevirt.io/kvm": "1k"}))
    ledger.set_pod(a_pod(asks={"devices.kubevirt.io/kvm": 1}, node="n8"))
    assert ledger.cell("n8", "devices.kubevirt.io/kvm") == Cell()

    ledger.set_class(a_class("kvm", resource="devices.kubevirt.io/kvm"))

    assert _free(ledger, "kvm") == (999, 999)


def test_foreign_pods_take_from_free_but_not_from_what_is_held(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))
    ledger.set_pod(a_pod(gpus=3, node="n4"))

    cell = ledger.cell("n4", L40S)

    assert (cell.held, cell.foreign, cell.free, cell.over_committed) == (2, 3, 0, 1)


# Classes


def test_two_classes_on_one_resource_and_node_sell_the_same_units(ledger: Ledger) -> None:
    ledger.set_class(a_class("twin"))
    ledger.set_class(a_class("elsewhere", selector={"pool": "none"}))
    ledger.set_claim(a_claim(gpus=8, of="twin", node="n8"))

    assert _free(ledger) == _free(ledger, "twin") == (6, 4)
    assert ledger.overlaps("l40s") == ("twin",)
    assert ledger.overlaps("elsewhere") == ()


def test_a_class_that_nobody_serves_tells_how_many_nodes_fail_for_what(ledger: Ledger) -> None:
    ledger.set_class(a_class("picky", selector={"pool": "gpu"}))
    ledger.set_node(a_node("tainted", labels={"pool": "gpu"}, taints=[Taint(key="a", effect="NoSchedule")]))
    ledger.set_node(a_node("ill", labels={"pool": "gpu"}, ready=False))

    assert ledger.node_reasons("picky") == {
        NodeReason.SELECTOR_MISMATCH: 3,
        NodeReason.NODE_NOT_READY: 1,
        NodeReason.TAINT_NOT_TOLERATED: 1,
    }
    assert _reasons(ledger, Order(ACME, "picky")) == [Reason.NO_ELIGIBLE_NODE]


def test_a_claim_moves_with_the_resource_of_its_class_and_stays_when_the_class_goes(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))

    ledger.set_class(a_class(resource="v.io/NEW"))
    assert (ledger.cell("n4", L40S).held, ledger.cell("n4", "v.io/NEW").held) == (0, 2)
    assert ledger.health(ACME, "one") == (HealthyReason.OVER_COMMITTED, HealthyReason.CLASS_CHANGED)

    ledger.set_class(a_class())
    ledger.remove_class("l40s")
    assert ledger.cell("n4", L40S).held == 2
    assert ledger.health(ACME, "one") == (HealthyReason.CLASS_CHANGED,)


@pytest.mark.parametrize(
    "edited", [a_class(selector={"pool": "x"}), a_class(max_count=1), a_class(mode=Mode.VGPU)]
)
def test_an_edit_that_leaves_a_claim_behind_makes_it_unhealthy_and_drops_nothing(
    ledger: Ledger, edited: object
) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))
    ledger.take_changes()

    ledger.set_class(edited)  # type: ignore[arg-type]  # parametrized as object

    assert ledger.health(ACME, "one") == (HealthyReason.CLASS_CHANGED,)
    assert ledger.cell("n4", L40S).held == 2
    assert (ACME, "one") in ledger.take_changes().claims


def test_the_harm_of_an_edit_is_counted_before_it_is_made(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("small", gpus=1, node="n4"))
    ledger.set_claim(a_claim("large", gpus=2, node="n4"))
    ledger.set_claim(a_claim("waiting", gpus=4))
    ledger.take_changes()

    assert not ledger.harm_of_edit(a_class())
    assert not ledger.harm_of_edit(a_class(max_count=4))
    assert ledger.harm_of_edit(a_class(max_count=1)) == Harm(outgrown=2)
    assert ledger.harm_of_edit(a_class(selector={"pool": "x"})) == Harm(astray=2)
    assert ledger.harm_of_edit(a_class(selector={"pool": "x"}, max_count=1)) == Harm(outgrown=2, astray=1)
    assert ledger.harm_of_edit(a_class("another", max_count=1)) == Harm()
    assert not ledger.take_changes().claims


def test_claims_that_an_edit_harmed_already_are_not_counted_again(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))
    ledger.set_class(a_class(max_count=1))

    assert ledger.harm_of_edit(a_class(max_count=1, selector={"pool": "x"})) == Harm()
    ledger.set_class(a_class(selector={"pool": "x"}))
    assert ledger.harm_of_edit(a_class(selector={"pool": "y"})) == Harm()


# Orders and reservations


def test_a_reservation_takes_units_and_budget_until_it_is_cancelled(ledger: Ledger) -> None:
    ledger.set_quota(a_quota({"gpu.cozystack.io/l40s": 4}))

    assert ledger.reserve("u1", Order(ACME, "l40s", 3), expires_at=10).ok
    assert _free(ledger) == (11, 8)
    assert _reasons(ledger, Order(ACME, "l40s", 2)) == [Reason.CLASS_BUDGET_EXCEEDED]
    assert ledger.reserve("u1", Order(ACME, "l40s", 3), expires_at=20).ok
    assert _free(ledger) == (11, 8)

    assert ledger.cancel("u1")
    assert not ledger.cancel("u1")
    assert _free(ledger) == (14, 8)
    assert ledger.check(Order(ACME, "l40s", 4)).ok


def test_a_reservation_ends_when_its_time_comes(ledger: Ledger) -> None:
    ledger.reserve("early", Order(ACME, "l40s", 1), expires_at=10)
    ledger.reserve("late", Order(ACME, "l40s", 1), expires_at=11)

    assert ledger.expire(10) == ["early"]
    assert _free(ledger) == (13, 8)


def test_the_last_units_are_sold_once(ledger: Ledger) -> None:
    order = Order(ACME, "l40s", 8)

    assert ledger.reserve("u1", order, expires_at=10).ok
    second = ledger.reserve("u2", order, expires_at=10)

    assert [refusal.reason for refusal in second.refusals] == [Reason.NO_CAPACITY]
    assert _reasons(ledger, Order(ACME, "l40s", 5)) == [Reason.NO_NODE_FITS]


def test_the_claim_takes_over_the_node_that_was_reserved_for_it(ledger: Ledger) -> None:
    ledger.reserve("u1", Order(ACME, "l40s", 3), expires_at=10)

    ledger.set_claim(a_claim(gpus=3, uid="u1"))

    assert ledger.plan(ACME, "one") == "n4"
    assert ledger.expire(99) == []
    ledger.set_claim(a_claim(gpus=3, uid="u1", node="n4"))
    assert ledger.decisions() == {}
    assert ledger.cell("n4", L40S) == Cell(capacity=4, allocatable=4, held=3, free=1)


def test_a_claim_of_the_same_name_and_another_uid_is_another_claim(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=4, node="n4", uid="first"))

    ledger.set_claim(a_claim(gpus=1, uid="second"))
    assert ledger.claim_uid(ACME, "one") == "second"
    assert ledger.cell("n4", L40S).held == 0

    ledger.remove_claim(ACME, "one", uid="first")
    assert ledger.claim_uid(ACME, "one") == "second"


def test_the_budget_of_the_parent_pool_counts_what_a_sub_tenant_reserves(ledger: Ledger) -> None:
    ledger.set_namespace(a_namespace(ACME, ancestors=["tenant-root"]))
    ledger.set_namespace(a_namespace("tenant-acme-lab", ancestors=["tenant-root", ACME]))
    ledger.set_quota(a_quota({"limits.gpu.cozystack.io/total": 4}))

    ledger.reserve("u1", Order("tenant-acme-lab", "l40s", 3), expires_at=10)

    (refusal,) = ledger.check(Order(ACME, "l40s", 2)).refusals
    assert refusal.reason is Reason.TOTAL_BUDGET_EXCEEDED
    assert refusal.numbers["quota"] == f"{ACME}/tenant-quota"


def test_a_claim_counts_against_the_budget_until_it_is_gone(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))
    ledger.set_claim(a_claim(gpus=2, node="n4", releasing=True))
    assert ledger.budgets.used(ACME, "l40s") == 2

    ledger.remove_claim(ACME, "one")

    assert ledger.budgets.used(ACME, "l40s") == 0
    assert _free(ledger) == (14, 8)


# Claims that wait


def test_a_waiting_claim_keeps_its_place_before_new_orders(ledger: Ledger) -> None:
    ledger.set_class(a_class("twin"))
    ledger.set_claim(a_claim("big", gpus=9))

    assert ledger.plan(ACME, "big") is None
    assert _free(ledger) == _free(ledger, "twin") == (5, 5)
    assert ledger.waiting_claims() == ((ACME, "big"),)


def test_waiting_claims_are_named_the_oldest_first(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("a", created_at=NOON + timedelta(minutes=1)))
    ledger.set_claim(a_claim("b"))

    assert ledger.waiting_claims() == ((ACME, "b"), (ACME, "a"))


def test_freed_units_bring_the_waiting_claims_up(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("holder", gpus=8, node="n8"))
    ledger.set_claim(a_claim("big", gpus=8))
    assert ledger.plan(ACME, "big") is None
    ledger.take_changes()

    ledger.remove_claim(ACME, "holder")

    assert (ACME, "big") in ledger.take_changes().claims
    assert ledger.plan(ACME, "big") == "n8"


def test_a_plan_that_is_no_longer_good_is_made_anew(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=3))
    assert ledger.plan(ACME, "one") == "n4"

    ledger.set_node(a_node("n4", gpus=4, ready=False))

    assert (ACME, "one") in ledger.take_changes().claims
    assert ledger.plan(ACME, "one") == "n8"
    assert ledger.cell("n4", L40S).held == 0


def test_a_plan_is_given_back_when_it_cannot_be_written(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=3))
    ledger.plan(ACME, "one")

    ledger.unplan(ACME, "one")

    assert ledger.decisions() == {}
    assert ledger.cell("n4", L40S).held == 0


def test_a_node_that_refused_is_skipped_until_the_entry_expires(ledger: Ledger) -> None:
    until = NOON + timedelta(minutes=10)
    ledger.set_claim(a_claim(gpus=2, refused=[refusal_of("n2", until=until)]))

    assert ledger.plan(ACME, "one") == "n4"
    ledger.unplan(ACME, "one")
    assert ledger.plan(ACME, "one", now=until - timedelta(seconds=1)) == "n4"
    ledger.unplan(ACME, "one")
    assert ledger.plan(ACME, "one", now=until) == "n2"


def test_a_releasing_claim_and_one_without_its_class_are_not_placed(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("leaving", releasing=True))
    ledger.set_claim(a_claim("orphan", of="gone"))

    assert ledger.plan(ACME, "leaving") is None
    assert ledger.plan(ACME, "orphan") is None
    assert ledger.plan(ACME, "never-seen") is None
    assert _free(ledger) == (14, 8)


# Sets


def test_an_order_of_a_set_has_to_fit_on_the_sets_node(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("first", gpus=1, set_name="vm", node="n2"))

    assert ledger.capacity("l40s", namespace=ACME, set_name="vm").free_on_set_node == 1
    assert _reasons(ledger, Order(ACME, "l40s", 2, "vm")) == [Reason.SET_NODE_FULL]
    assert ledger.reserve("u1", Order(ACME, "l40s", 1, "vm"), expires_at=10).ok
    assert ledger.decisions() == {"u1": "n2"}
    assert ledger.capacity("l40s", namespace="tenant-globex", set_name="vm").free_on_set_node is None


def test_a_reservation_already_decides_where_its_set_is(ledger: Ledger) -> None:
    ledger.reserve("u1", Order(ACME, "l40s", 2, "vm"), expires_at=10)

    assert _reasons(ledger, Order(ACME, "l40s", 1, "vm")) == [Reason.SET_NODE_FULL]


def test_a_set_that_waits_is_placed_as_a_whole(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("first", gpus=3, set_name="vm"))
    ledger.set_claim(a_claim("second", gpus=3, set_name="vm"))
    assert _reasons(ledger, Order(ACME, "l40s", 1, "vm")) == [Reason.SET_NODE_FULL]

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
    assert _free(ledger) == (0, 0)
    assert ledger.budgets.used(ACME) == 0
