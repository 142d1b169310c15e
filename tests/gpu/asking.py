"""What tests ask a ledger again and again."""

from __future__ import annotations

from gpu.fit import Order, Reason
from gpu.ledger import Ledger


def free_of(ledger: Ledger, class_name: str = "l40s") -> tuple[int | None, int | None]:
    """Give what is free of the class, in all and on its best node."""
    capacity = ledger.capacity(class_name)
    return capacity.free, capacity.max_free_per_node


def reasons_of(ledger: Ledger, order: Order) -> list[Reason]:
    """Give why the order would be refused."""
    return [refusal.reason for refusal in ledger.check(order).refusals]
