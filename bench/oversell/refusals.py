"""Was an order refused although it fitted, by every rule, at every moment of the call?

The judgement leans to the side of the controller: units that somebody may hold count as held, on every node where they may be. What
is left and still called a wrong refusal is one. Counted from ``sight_seconds`` before the call, as the controller cannot know at
once what the API server just stored, until as long after it, as the checker cannot either.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bench.oversell.calls import Call, Pending
from bench.oversell.facts import ClaimFacts, ClassFacts, Key, NodeFacts
from bench.oversell.findings import Findings, Wrong
from bench.oversell.model import Model
from bench.oversell.past import Past
from bench.oversell.recently import Recently

if TYPE_CHECKING:
    from bench.oversell.checker import Order

_GHOST: Final = "ghost"
_OWN_LAG_SECONDS: Final = 2.0
"""How late the checker itself may be told what had happened before an answer."""
_CANDIDATES: Final = 4
"""Nodes that are followed for one call. Any of them that stays good convicts; more only cost time."""


class RefusalJudge:
    """Follows every order that could fit; convicts at the end of its time."""

    def __init__(
        self,
        model: Model,
        recently: Recently,
        findings: Findings,
        *,
        sight_seconds: float,
        ghost_seconds: float,
    ) -> None:
        self._model = model
        self._recently = recently
        self._findings = findings
        self.sight = sight_seconds
        self._ghost_seconds = ghost_seconds
        self.asked_at: dict[Key, float] = {}
        self._pending: dict[tuple[str, ...], Pending] = {}
        self._open: dict[Key, Call] = {}
        self._refused: deque[Call] = deque()
        self._left_node: Past[tuple[str, str], int] = Past()
        self.left_pool: Past[tuple[str, str], int] = Past()
        self._class_changed_at: defaultdict[str, float] = defaultdict(lambda: float("-inf"))
        self._budget_changed_at: defaultdict[str, float] = defaultdict(lambda: float("-inf"))
        self._set_changed_at: defaultdict[tuple[str, str], float] = defaultdict(lambda: float("-inf"))
        self._out_until: dict[str, float] = {}
        self.tolerates_unknown = False
        self.watched = 0
        """Orders that fitted when they were sent, and could be refused wrongly."""
        self.judged = 0
        self.excused = 0
        """Refusals of orders that could not have fitted at some moment of their time, or of which that cannot be said."""

    # Calls

    def asked(self, key: Key, order: Order, *, at: float) -> None:
        found = self._model.classes.get(order.class_name)
        if found is None:
            return
        call = self._candidate(order, found, at=at)
        if not order.dry_run:
            self.asked_at[key] = at
            self._pending[key] = Pending(
                key[0], order.class_name, found.resource, order.count, order.set_name
            )
            self._set_changes(key[0], order.set_name, at=at)
            self._narrow(resource=found.resource, namespace=key[0], at=at)
        if call is not None:
            self._open[key] = call
            self.watched += 1

    def admitted(self, key: Key, *, keeps: bool) -> None:
        self._open.pop(key, None)
        claim = self._model.claims.get(key)
        if not keeps or (claim is not None and claim.node):
            self._pending.pop(key, None)

    def refused(self, key: Key, reason: str, *, at: float) -> None:
        self._pending.pop(key, None)
        self.asked_at.pop(key, None)
        call = self._open.pop(key, None)
        if call is None or (reason == "CapacityUnknown" and self.tolerates_unknown):
            self.excused += 1
            return
        call.refused_as = reason
        call.closes_at = at + min(self.sight, _OWN_LAG_SECONDS)
        self._refused.append(call)

    def vanished(self, key: Key, *, at: float) -> None:
        """Count its units as charged until a reservation must have run out."""
        self._open.pop(key, None)
        pending = self._pending.pop(key, None)
        if pending is not None:
            until = at + self._ghost_seconds
            self._pending[*key, _GHOST] = replace(pending, until=until)

    def ghosts(self, *, at: float) -> list[Pending]:
        """Give the orders that may have been admitted, are stored nowhere and stay reserved for a while."""
        return [
            pending for key, pending in self._pending.items() if key[-1] == _GHOST and pending.until >= at
        ]

    def close(self, *, at: float) -> None:
        """Convict whoever refused what fitted until now."""
        while self._refused and self._refused[0].closes_at <= at:
            call = self._refused.popleft()
            if not call.nodes:
                self.excused += 1
                continue
            self.judged += 1
            order = call.order
            self._findings.add(
                Wrong.REFUSED,
                f"{order.key} for {order.count} of {order.class_name} was refused as {call.refused_as}; it fitted on {sorted(call.nodes)}",
            )

    def forget_open(self) -> None:
        """The checker itself missed something: nothing can be said about the calls under way."""
        for call in (*self._open.values(), *self._refused):
            call.nodes.clear()

    # What changes what fits

    def left(self, claim: ClaimFacts, *, at: float) -> None:
        """Its units are free, and the controller learns of it a little later."""
        resource = self._model.resource_of(claim.class_name)
        if claim.node and resource:
            self._left_node.keep((claim.node, resource), claim.count, at=at)
        self._set_changes(claim.key[0], claim.set_name, at=at)
        for pool in self._model.pools(claim.key[0], claim.class_name):
            self.left_pool.keep((pool.owner, pool.subject), claim.count, at=at)

    def is_gone(self, claim: ClaimFacts) -> None:
        """Forget it. While watches break, a claim may come and go unseen: its reservation then has to run out.

        One that was bound had been seen by whoever bound it.
        """
        pending = self._pending.pop(claim.key, None)
        asked_at = self.asked_at.pop(claim.key, None)
        if self.tolerates_unknown and claim.node is None and asked_at is not None and pending is not None:
            until = asked_at + self._ghost_seconds
            self._pending[*claim.key, _GHOST] = replace(pending, until=until)

    def arrived(self, claim: ClaimFacts) -> None:
        """It is bound: from now on its node says where its units are."""
        self._pending.pop(claim.key, None)

    def changed(self, claim: ClaimFacts, *, at: float) -> None:
        resource = self._model.resource_of(claim.class_name)
        if resource:
            self._narrow(resource=resource, namespace=claim.key[0], at=at)

    def node_changed(self, node: NodeFacts, old: NodeFacts | None, *, at: float) -> None:
        if not node.is_in_service:
            self._out_until[node.name] = float("inf")
        elif node.name in self._out_until:
            self._out_until[node.name] = at + self.sight
        for call in self._followed():
            call.nodes.discard(node.name)
        for resource in node.allocatable:
            self._narrow(resource=resource, namespace=None, at=at)

    def class_changed(self, name: str, *, at: float) -> None:
        self._class_changed_at[name] = at
        for call in self._followed():
            if call.order.class_name == name:
                call.nodes.clear()

    def budget_changed(self, namespace: str, *, at: float) -> None:
        self._budget_changed_at[namespace] = at
        for call in self._followed():
            if namespace in call.namespaces:
                call.nodes.clear()

    # Rules

    def _followed(self) -> list[Call]:
        return [call for call in (*self._open.values(), *self._refused) if call.nodes]

    def _candidate(self, order: Order, found: ClassFacts, *, at: float) -> Call | None:
        """Start to follow an order that fits now and did for a while."""
        if found.max_count is not None and order.count > found.max_count:
            return None
        if at - self._class_changed_at[found.name] < self.sight:
            return None
        namespace = order.key[0]
        pools = self._model.pools(namespace, order.class_name)
        above = self._model.ancestors.get(namespace, frozenset())
        namespaces = frozenset({namespace, *above, *(member for pool in pools for member in pool.members)})
        if any(at - self._budget_changed_at[name] < self.sight for name in namespaces):
            return None
        call = Call(order, found, set(), pools, namespaces)
        if not self._fits_budgets(call, at=at):
            return None
        taken = self._taken(found.resource, at=at, without=order.key)
        for name in self._candidates(order, found, at=at):
            if self._fits_node(call, name, taken, at=at):
                call.nodes.add(name)
                if len(call.nodes) == _CANDIDATES:
                    break
        return call if call.nodes else None

    def _candidates(self, order: Order, found: ClassFacts, *, at: float) -> list[str]:
        if order.set_name is None:
            return self._model.with_resource(found.resource)
        namespace, nodes = order.key[0], self._model.with_resource(found.resource)
        if at - self._set_changed_at[namespace, order.set_name] < self.sight:
            return []  # whoever comes or goes may decide where the set is
        if any(
            (pending.namespace, pending.set_name) == (namespace, order.set_name)
            for pending in self._pending.values()
        ):
            return []
        taken = {member.node for member in self._model.set_members(namespace, order.set_name)}
        return [node for node in nodes if {node} == taken] if taken else nodes

    def _set_changes(self, namespace: str, set_name: str | None, *, at: float) -> None:
        """Somebody may come to the set or leave it: where it is cannot be said for a while."""
        if set_name is None:
            return
        self._set_changed_at[namespace, set_name] = at
        for call in self._followed():
            if (call.order.key[0], call.order.set_name) == (namespace, set_name):
                call.nodes.clear()

    def _narrow(self, *, resource: str, namespace: str | None, at: float) -> None:
        """Drop the nodes on which a call under way does not fit any more."""
        calls = [call for call in self._followed() if call.found.resource == resource]
        if calls:
            taken = self._taken(resource, at=at)
            for call in calls:
                own = self._pending.get(call.order.key)
                others = taken - (own.count if own is not None else 0)
                call.nodes = {name for name in call.nodes if self._fits_node(call, name, others, at=at)}
        if namespace is not None:
            for call in self._followed():
                if namespace in call.namespaces and not self._fits_budgets(call, at=at):
                    call.nodes.clear()

    def _taken(self, resource: str, *, at: float, without: Key | None = None) -> int:
        """Add up the units of which nobody knows the node: on their way, waiting, or about to move."""
        for key in [key for key, pending in self._pending.items() if pending.until < at]:
            del self._pending[key]
        model = self._model
        units = sum(
            pending.count
            for key, pending in self._pending.items()
            if pending.resource == resource and key != without
        )
        for key in model.unbound - self._pending.keys():
            if model.resource_of(model.claims[key].class_name) == resource:
                units += model.claims[key].count
        for node in [node for node, until in self._out_until.items() if until < at]:
            del self._out_until[node]
        return units + sum(model.held(node, resource) for node in self._out_until)

    def _fits_node(self, call: Call, name: str, taken: int, *, at: float) -> bool:
        node, resource = self._model.nodes.get(name), call.found.resource
        if node is None or not call.found.is_served_by(node):
            return False
        if at - self._recently.node_changed_at[name] < self.sight:
            return False
        left = sum(self._left_node.recent((name, resource), at=at, since=at - self.sight))
        return self._model.room(name, resource) - left - taken >= call.order.count

    def _fits_budgets(self, call: Call, *, at: float) -> bool:
        for pool in call.pools:
            on_their_way = sum(
                pending.count
                for key, pending in self._pending.items()
                if key != call.order.key
                and key not in self._model.claims
                and pending.namespace in pool.members
                and pool.subject in ("total", pending.class_name)
            )
            left = sum(self.left_pool.recent((pool.owner, pool.subject), at=at, since=at - self.sight))
            if self._model.used(pool) + on_their_way + left + call.order.count > pool.limit:
                return False
        return True
