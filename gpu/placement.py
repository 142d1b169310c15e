"""Where to put what fits: the node with the least free units left, then the first by name.

Packing tight keeps the big holes for big orders, and the order of names makes it deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from gpu.stock import Stock

Demand = tuple[Stock, int]
"""Units of one class."""


def best_fit(demands: Sequence[Demand], *, skip: AbstractSet[str] = frozenset()) -> str | None:
    """Choose one node for all the demands together, or ``None`` when no node has room for them."""
    stocks = {stock.name: stock for stock, _ in demands}
    if len(stocks) == 1:
        (stock,) = stocks.values()
        return stock.buckets.best(sum(units for _, units in demands), skip=skip)
    rarest = min(stocks.values(), key=lambda stock: (len(stock.buckets.free_of), stock.name))
    found = [
        (left, node)
        for node in rarest.buckets.free_of
        if node not in skip and (left := left_over(demands, node)) is not None
    ]
    return min(found)[1] if found else None


def left_over(demands: Sequence[Demand], node: str) -> int | None:
    """Give the units that would stay free on the node, over all resources asked for; ``None`` when they do not fit there."""
    free: dict[str, int] = {}
    for stock, _ in demands:
        on_node = stock.buckets.free_of.get(node)
        if on_node is None:
            return None
        free[stock.resource] = on_node
    for stock, units in demands:
        free[stock.resource] -= units
    return sum(free.values()) if min(free.values()) >= 0 else None
