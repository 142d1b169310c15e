"""An order for a VM's set is charged where the set is, from the moment it is admitted."""

from __future__ import annotations

from gpu.fit import Order
from gpu.ledger import Ledger
from tests.builders import ACME, a_claim, a_class, a_node


def test_an_order_of_a_set_is_charged_to_the_node_of_the_set_and_not_to_the_best_one() -> None:
    ledger = Ledger()
    ledger.set_class(a_class("l40s"))
    ledger.set_node(a_node("n1", gpus=1))
    ledger.set_node(a_node("n2", gpus=4))
    ledger.set_claim(a_claim("one", gpus=3, set_name="vm", node="n2"))

    assert ledger.reserve("two", Order(ACME, "l40s", 1, "vm"), expires_at=10).ok

    assert ledger.decisions() == {"two": "n2"}
    assert not ledger.check(Order(ACME, "l40s", 1, "vm")).ok, "the set's node is full now"
