"""What the ledger decides about orders, and about claims that wait."""

from __future__ import annotations

from datetime import timedelta

from gpu.cells import Cell
from gpu.fit import Order, Reason
from gpu.ledger import Ledger
from tests.builders import (
    ACME,
    L40S,
    NOON,
    a_claim,
    a_class,
    a_namespace,
    a_node,
    a_quota,
    refusal_of,
)
from tests.gpu.asking import free_of, reasons_of

# Orders and reservations


def test_a_reservation_takes_units_and_budget_until_it_is_cancelled(ledger: Ledger) -> None:
    ledger.set_quota(a_quota({"gpu.cozystack.io/l40s": 4}))

    assert ledger.reserve("u1", Order(ACME, "l40s", 3), expires_at=10).ok
    assert free_of(ledger) == (11, 8)
    assert reasons_of(ledger, Order(ACME, "l40s", 2)) == [Reason.CLASS_BUDGET_EXCEEDED]
    assert ledger.reserve("u1", Order(ACME, "l40s", 3), expires_at=20).ok
    assert free_of(ledger) == (11, 8)

    assert ledger.cancel("u1")
    assert not ledger.cancel("u1")
    assert free_of(ledger) == (14, 8)
    assert ledger.check(Order(ACME, "l40s", 4)).ok


def test_a_reservation_ends_when_its_time_comes(ledger: Ledger) -> None:
    ledger.reserve("early", Order(ACME, "l40s", 1), expires_at=10)
    ledger.reserve("late", Order(ACME, "l40s", 1), expires_at=11)

    assert ledger.expire(10) == ["early"]
    assert free_of(ledger) == (13, 8)


def test_an_order_counts_as_a_claim_of_its_class_before_the_claim_arrives(ledger: Ledger) -> None:
    ledger.reserve("u1", Order(ACME, "l40s", 1), expires_at=10)
    ledger.reserve("never arrives", Order(ACME, "l40s", 1), expires_at=10)
    assert ledger.claims_of("l40s") == 2

    ledger.set_claim(a_claim(uid="u1"))
    assert ledger.claims_of("l40s") == 2
    ledger.expire(10)
    assert ledger.claims_of("l40s") == 1
    ledger.remove_claim(ACME, "one")
    assert ledger.claims_of("l40s") == 0


def test_the_last_units_are_sold_once(ledger: Ledger) -> None:
    order = Order(ACME, "l40s", 8)

    assert ledger.reserve("u1", order, expires_at=10).ok
    second = ledger.reserve("u2", order, expires_at=10)

    assert [refusal.reason for refusal in second.refusals] == [Reason.NO_CAPACITY]
    assert reasons_of(ledger, Order(ACME, "l40s", 5)) == [Reason.NO_NODE_FITS]


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
    assert free_of(ledger) == (14, 8)


# Claims that wait


def test_a_waiting_claim_keeps_its_place_before_new_orders(ledger: Ledger) -> None:
    ledger.set_class(a_class("twin"))
    ledger.set_claim(a_claim("big", gpus=9))

    assert ledger.plan(ACME, "big") is None
    assert free_of(ledger) == free_of(ledger, "twin") == (5, 5)
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
    assert free_of(ledger) == (14, 8)
