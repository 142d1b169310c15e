"""Decisions: what an order or a waiting claim finds, and the node it is charged to before anybody writes it down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from gpu import fit
from gpu.book import Book
from gpu.budgets import Budgets
from gpu.fit import Capacity, Order, Verdict
from gpu.holds import ClaimKey, Hold, common_node, hold_for_order
from gpu.inventory import Inventory
from gpu.placement import Demand, best_fit, left_over
from gpu.resources import GPUClaimSpec, OnCordon
from gpu.stock import Stock

_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class Planner:
    """Reserves for orders, places claims that have no node and moves those that should leave theirs."""

    def __init__(self, inventory: Inventory, book: Book, budgets: Budgets) -> None:
        self._inventory = inventory
        self._book = book
        self._budgets = budgets
        self._verdicts: dict[str, Verdict] = {}

    # Orders

    def capacity(self, class_name: str, *, namespace: str | None, set_name: str | None) -> Capacity:
        stock = self._inventory.stocks.get(class_name)
        if stock is None:
            return Capacity.unknown()
        self._inventory.settle()
        buckets = stock.buckets
        free = max(0, buckets.total - self._inventory.waiting_before(stock))
        on_set_node = self._free_on_set_node(stock, namespace, set_name, at_most=free) if set_name else None
        return Capacity(free, min(buckets.largest, free), bool(buckets.free_of), on_set_node)

    def _free_on_set_node(
        self, stock: Stock, namespace: str | None, set_name: str | None, *, at_most: int
    ) -> int | None:
        members = self._book.in_set(namespace, set_name) if namespace else frozenset()
        waiting = [member for member in members if member.waits]
        node = common_node(members)
        if node is None:
            # A set that waits as a whole goes where all of it fits, so there is no node yet to add to.
            return 0 if waiting else None
        ahead = sum(
            member.units
            for member in waiting
            if self._inventory.resource_of.get(member.class_name) == stock.resource
        )
        return max(0, min(at_most, stock.buckets.free_of.get(node, 0) - ahead))

    def check(self, order: Order) -> Verdict:
        stock = self._inventory.stocks.get(order.class_name)
        return fit.check(
            order,
            stock.offer if stock is not None else None,
            self.capacity(order.class_name, namespace=order.namespace, set_name=order.set_name),
            self._budgets.for_order(order.namespace, order.class_name),
        )

    def reserve(self, uid: str, order: Order, *, expires_at: float) -> Verdict:
        known = self._book.reservations.get(uid)
        if known is not None:
            known.expires_at = expires_at
            return self._verdicts[uid]
        verdict = self.check(order)
        if not verdict.ok:
            return verdict
        hold = hold_for_order(uid, order, expires_at=expires_at)
        stock = self._inventory.stocks[order.class_name]
        hold.planned = common_node(self._book.in_set(order.namespace, order.set_name)) or best_fit(
            [(stock, order.count)]
        )
        self._book.enter(hold)
        self._verdicts[uid] = verdict
        return verdict

    def cancel(self, uid: str) -> bool:
        hold = self._book.reservations.get(uid)
        if hold is None:
            return False
        self._book.strike(hold)
        del self._verdicts[uid]
        return True

    def take_over(self, uid: str, claim: Hold, spec: GPUClaimSpec) -> None:
        """Give the claim's hold the node that was reserved for it, and end the reservation."""
        reserved = self._book.reservations.get(uid)
        if reserved is None:
            return
        if reserved.asks_for(claim.namespace, spec):
            claim.planned = reserved.planned
        self.cancel(uid)

    def expire(self, now: float) -> list[str]:
        late = [uid for uid, hold in self._book.reservations.items() if hold.expires_at <= now]
        for uid in late:
            self.cancel(uid)
        return late

    # Claims

    def plan(self, hold: Hold, *, now: datetime | None) -> str | None:
        """Give the node an unbound claim is charged to, choosing one when it has none that is still good."""
        if hold.node is not None:
            return hold.planned or hold.node
        stock = self._inventory.stocks.get(hold.class_name)
        if hold.is_releasing or stock is None:
            self.unplan(hold)
            return None
        self._inventory.settle()
        group = self._group(hold)
        shared = common_node(member for member in group if member is not hold)
        if hold.planned is not None:
            if shared in (None, hold.planned) and self._is_good(hold, stock, group, now):
                return hold.planned
            self._book.place(hold, node=None, planned=None)
            self._inventory.settle()
        refused = _refused(group, now)
        if shared is not None:
            if shared in refused or left_over([(stock, hold.units)], shared) is None:
                return None
            self._book.place(hold, node=None, planned=shared)
            return shared
        unplaced = [member for member in group if member.waits and self._can_place(member)]
        return self._send(hold, unplaced, best_fit(self._demands(unplaced), skip=refused))

    def plan_move(self, hold: Hold, *, now: datetime | None) -> str | None:
        """Choose another node for a bound claim and the rest of its set; ``None`` when one of them has to stay.

        A set that is apart meets where most of it is, else where any of it is, else elsewhere; ``None`` then also says that the
        others come to this one. Both nodes are charged until the claim's status names the new one.
        """
        everyone = self._group(hold)
        group = [member for member in everyone if not member.is_releasing]
        if hold.node is None or hold not in group:
            return None
        if any(member.pod is not None or not self._can_place(member) for member in group):
            return None
        self._inventory.settle()
        if hold.planned is not None:
            if self._is_good(hold, self._inventory.stocks[hold.class_name], everyone, now):
                return hold.planned
            for member in group:
                self._book.place(member, node=member.node, planned=None)
                if member is not hold and member.is_claim:
                    self._book.changed_claims.add(member.key)
            self._inventory.settle()
        refused = _refused(everyone, now)
        where = Counter(member.location for member in group if member.location)
        if len(where.keys() | {member.node for member in group if member.node}) > 1:
            # Apart: whoever of them is asked says the same, so that they meet and do not pass each other by.
            for node in sorted(where, key=lambda name: (-where[name], name)):
                movers = [member for member in group if member.location != node]
                # None of its own: the node has to serve it, also when the others are on their way there.
                demands = [(self._inventory.stocks[hold.class_name], 0), *self._demands(movers)]
                if node not in refused and left_over(demands, node) is not None:
                    self._send(hold, movers, node)
                    return node if hold in movers else None
        return self._send(hold, group, best_fit(self._demands(group), skip=refused | where.keys()))

    def unplan(self, hold: Hold) -> None:
        self._book.place(hold, node=hold.node, planned=None)

    def may_leave(self, hold: Hold) -> bool:
        """Say whether every class of the set says Move and no VM runs with any of it."""
        stocks = self._inventory.stocks
        return all(
            member.pod is None
            and (stock := stocks.get(member.class_name)) is not None
            and stock.gpu_class.spec.on_cordon is OnCordon.MOVE
            for member in self._group(hold)
        )

    def waiting_claims(self) -> tuple[ClaimKey, ...]:
        waiting = [hold for hold in self._book.claims.values() if hold.waits]
        waiting.sort(key=lambda hold: (hold.created_at or _NEVER, hold.key))
        return tuple(hold.key for hold in waiting)

    def _send(self, asked: Hold, members: Iterable[Hold], node: str | None) -> str | None:
        """Charge the node to all the members; whoever did not ask for it has to be looked at."""
        if node is None:
            return None
        for member in members:
            self._book.place(member, node=member.node, planned=node)
            if member is not asked and member.is_claim:
                self._book.changed_claims.add(member.key)
        return node

    def _is_good(self, hold: Hold, stock: Stock, group: Iterable[Hold], now: datetime | None) -> bool:
        """Say whether the planned node still serves the claim and has a device behind every held unit."""
        tally = hold.at_planned
        return (
            hold.planned in stock.buckets.free_of
            and hold.planned not in _refused(group, now)
            and tally is not None
            and tally.figures[5] == 0
        )

    def _group(self, hold: Hold) -> tuple[Hold, ...]:
        """Give the claim with the rest of its set, in a fixed order."""
        members = self._book.in_set(hold.namespace, hold.set_name)
        return tuple(sorted(members, key=lambda member: (member.name, member.uid))) if members else (hold,)

    def _can_place(self, hold: Hold) -> bool:
        return hold.class_name in self._inventory.stocks

    def _demands(self, holds: Iterable[Hold]) -> list[Demand]:
        return [(self._inventory.stocks[hold.class_name], hold.units) for hold in holds]


def _refused(group: Iterable[Hold], now: datetime | None) -> frozenset[str]:
    """A node that refused one claim of a set refused the set's one VM."""
    return frozenset().union(*(member.refuses(now) for member in group))
