"""What the ledger decided and nobody has written yet: kept while it is good, and no longer."""

from __future__ import annotations

from gpu.fit import Order
from gpu.ledger import Ledger
from tests.builders import ACME, L40S, a_claim, a_class, a_node


def a_ledger() -> Ledger:
    """One unit on n1, four on n2."""
    ledger = Ledger()
    ledger.set_class(a_class("l40s"))
    ledger.set_node(a_node("n1", gpus=1))
    ledger.set_node(a_node("n2", gpus=4))
    return ledger


def test_an_order_of_a_set_is_charged_to_the_node_of_the_set_and_not_to_the_best_one() -> None:
    ledger = a_ledger()
    ledger.set_claim(a_claim("one", gpus=3, set_name="vm", node="n2"))

    assert ledger.reserve("two", Order(ACME, "l40s", 1, "vm"), expires_at=10).ok

    assert ledger.decisions() == {"two": "n2"}
    assert not ledger.check(Order(ACME, "l40s", 1, "vm")).ok, "the set's node is full now"


def test_a_plan_is_dropped_when_its_devices_are_gone() -> None:
    ledger = a_ledger()
    ledger.set_claim(a_claim("one"))
    assert ledger.plan(ACME, "one") == "n1"

    ledger.set_node(a_node("n1", gpus=0))

    assert ledger.plan(ACME, "one") == "n2"


def test_a_claim_made_anew_under_its_name_takes_its_own_reservation_over() -> None:
    ledger = a_ledger()
    ledger.set_claim(a_claim("one", node="n1", uid="old"))
    assert ledger.reserve("new", Order(ACME, "l40s", 1), expires_at=10).ok

    ledger.set_claim(a_claim("one", uid="new"))

    assert ledger.expire(now=20) == [], "there is no reservation any more"
    assert ledger.decisions() == {"new": "n2"}
    assert ledger.cell("n1", L40S).held == 0
    assert ledger.cell("n2", L40S).held == 1
