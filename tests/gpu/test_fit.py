from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.fit import (
    Budget,
    Capacity,
    CheckName,
    Offer,
    Order,
    Reason,
    Refusal,
    check,
    effective_max_count,
    largest_order,
)
from gpu.resources import Mode
from tests.builders import ACME, a_class

OFFER = Offer("l40s", "L40S")
ROOM = Capacity(free=8, max_free_per_node=4, has_eligible_node=True)


def _order(count: int, *, set_name: str | None = None) -> Order:
    return Order(ACME, "l40s", count, set_name)


def _budget(*, used: int, limit: int, is_total: bool = False) -> Budget:
    key = "gpu.cozystack.io/total" if is_total else "gpu.cozystack.io/l40s"
    return Budget(key=key, used=used, limit=limit, quota=f"{ACME}/tenant-quota", pool=ACME, is_total=is_total)


def test_the_order_that_exactly_fills_node_class_and_budget_passes() -> None:
    full = Capacity(free=4, max_free_per_node=4, has_eligible_node=True)

    verdict = check(_order(4), Offer("l40s", "L40S", 4), full, [_budget(used=2, limit=6)])

    assert verdict.ok
    assert all(line.passed for line in verdict.checks)


@pytest.mark.parametrize(
    ("order", "offer", "capacity", "budgets", "refusals"),
    [
        (_order(1), None, ROOM, [], [Refusal(Reason.CLASS_NOT_FOUND)]),
        (
            _order(2),
            Offer("l40s", "L40S", 1),
            ROOM,
            [],
            [Refusal(Reason.COUNT_ABOVE_MAX, {"asked": 2, "max": 1})],
        ),
        (_order(1), OFFER, Capacity(0, 0, has_eligible_node=False), [], [Refusal(Reason.NO_ELIGIBLE_NODE)]),
        (_order(9), OFFER, ROOM, [], [Refusal(Reason.NO_CAPACITY, {"asked": 9, "free": 8})]),
        (
            _order(6),
            OFFER,
            ROOM,
            [],
            [Refusal(Reason.NO_NODE_FITS, {"asked": 6, "free": 8, "maxFreePerNode": 4})],
        ),
        (
            _order(2, set_name="s"),
            OFFER,
            Capacity(8, 4, has_eligible_node=True, free_on_set_node=1),
            [],
            [Refusal(Reason.SET_NODE_FULL, {"asked": 2, "freeOnSetNode": 1})],
        ),
        (_order(1), OFFER, Capacity.unknown(), [], [Refusal(Reason.CAPACITY_UNKNOWN)]),
        (_order(1), OFFER, Capacity.unknown(90), [], [Refusal(Reason.CAPACITY_UNKNOWN, {"age": 90})]),
    ],
)
def test_each_reason_comes_with_its_numbers(
    order: Order, offer: Offer | None, capacity: Capacity, budgets: list[Budget], refusals: list[Refusal]
) -> None:
    assert list(check(order, offer, capacity, budgets).refusals) == refusals


@pytest.mark.parametrize("is_total", [False, True])
def test_a_budget_refusal_names_the_key_and_the_quota(is_total: bool) -> None:
    budget = _budget(used=3, limit=4, is_total=is_total)

    (refusal,) = check(_order(2), OFFER, ROOM, [budget]).refusals

    assert refusal.reason is (Reason.TOTAL_BUDGET_EXCEEDED if is_total else Reason.CLASS_BUDGET_EXCEEDED)
    assert refusal.numbers == {"asked": 2, "used": 3, "limit": 4, "key": budget.key, "quota": budget.quota}


def test_all_refusals_are_told_in_the_order_of_the_table() -> None:
    full_set = Capacity(1, 1, has_eligible_node=True, free_on_set_node=0)
    budgets = [_budget(used=0, limit=0, is_total=True), _budget(used=0, limit=0)]

    verdict = check(_order(2, set_name="s"), Offer("l40s", "L40S", 1), full_set, budgets)

    assert [refusal.reason for refusal in verdict.refusals] == [
        Reason.COUNT_ABOVE_MAX,
        Reason.NO_CAPACITY,
        Reason.SET_NODE_FULL,
        Reason.CLASS_BUDGET_EXCEEDED,
        Reason.TOTAL_BUDGET_EXCEEDED,
    ]


def test_unknown_capacity_is_one_refusal_beside_those_that_are_known() -> None:
    verdict = check(_order(2), Offer("l40s", "L40S", 1), Capacity.unknown(), [_budget(used=0, limit=0)])

    assert [refusal.reason for refusal in verdict.refusals] == [
        Reason.COUNT_ABOVE_MAX,
        Reason.CLASS_BUDGET_EXCEEDED,
        Reason.CAPACITY_UNKNOWN,
    ]


def test_every_line_is_there_whatever_the_outcome() -> None:
    for offer, capacity in ((None, ROOM), (OFFER, Capacity.unknown()), (OFFER, ROOM)):
        assert [line.name for line in check(_order(1), offer, capacity).checks] == list(CheckName)


def test_a_line_that_does_not_apply_has_passed_and_holds_no_limit() -> None:
    lines = {line.name: line for line in check(_order(1), OFFER, ROOM).checks}

    for name in (CheckName.PER_VM, CheckName.CLASS_BUDGET, CheckName.TOTAL_BUDGET):
        assert lines[name].passed
        assert lines[name].numbers == {"asked": 1}


def test_the_tightest_of_several_budgets_counts() -> None:
    wide, narrow = _budget(used=0, limit=9), _budget(used=3, limit=4)

    (refusal,) = check(_order(2), OFFER, ROOM, [wide, narrow]).refusals

    assert refusal.numbers["limit"] == 4


@pytest.mark.parametrize(
    ("mode", "max_count", "effective"),
    [(Mode.VGPU, None, 1), (Mode.PASSTHROUGH, None, None), (Mode.VGPU, 3, 3), (Mode.PASSTHROUGH, 2, 2)],
)
def test_an_unset_max_count_is_one_for_vgpu_and_no_limit_for_passthrough(
    mode: Mode, max_count: int | None, effective: int | None
) -> None:
    assert effective_max_count(a_class(mode=mode, max_count=max_count).spec) == effective


units = st.integers(0, 9)


@given(
    st.none() | units.filter(bool),
    st.builds(lambda a, b, s: Capacity(max(a, b), min(a, b), a + b > 0, s), units, units, st.none() | units),
    st.lists(st.builds(_budget, used=units, limit=units, is_total=st.booleans()), max_size=3),
)
def test_the_largest_order_is_the_last_that_fits(
    max_count: int | None, capacity: Capacity, budgets: list[Budget]
) -> None:
    offer = Offer("l40s", "L40S", max_count)

    largest = largest_order(offer, capacity, budgets)

    assert largest == max(
        (n for n in range(1, 30) if check(_order(n), offer, capacity, budgets).ok), default=0
    )


def test_nothing_fits_while_capacity_or_class_is_unknown() -> None:
    assert largest_order(OFFER, Capacity.unknown()) == 0
    assert largest_order(None, ROOM) == 0
