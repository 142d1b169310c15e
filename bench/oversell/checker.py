"""The judge: after every event of the API server it adds up again who holds what, and compares with what may be.

``sight_seconds`` is how old the picture of a node or a budget may be on which the controller decided. A claim is held against the
most that its node and its budgets had to give from that long before the order was sent: the units are charged then. Claims get no
such grace, they are added up exactly as the server ordered them. ``ghost_seconds`` is how long an order may stay reserved that is
not there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bench.oversell.admissions import AdmissionJudge
from bench.oversell.facts import ClaimFacts, ClassFacts, Json, Key, NodeFacts, QuotaFacts
from bench.oversell.feed import Told
from bench.oversell.findings import Findings, Wrong
from bench.oversell.model import Model
from bench.oversell.recently import Recently
from bench.oversell.refusals import RefusalJudge
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NAMESPACES, NODES, RESOURCE_QUOTAS

MOVE_SECONDS: Final = 10.0
"""How long after its node came back a claim may still arrive elsewhere: rounds over cordoned nodes are made every five seconds."""


@dataclass(frozen=True)
class Order:
    """What a client asks for, under a name used once."""

    key: Key
    class_name: str
    count: int = 1
    set_name: str | None = None
    dry_run: bool = False


class Checker:
    """Fed with what the API server tells and with what clients were answered."""

    def __init__(self, *, sight_seconds: float, ghost_seconds: float = 33.0) -> None:
        self.model = Model()
        self.findings = Findings()
        self.recently = Recently(self.model)
        self.refusals = RefusalJudge(
            self.model, self.recently, self.findings, sight_seconds=sight_seconds, ghost_seconds=ghost_seconds
        )
        self.alive: dict[Key, str] = {}  # created and not asked to be deleted: uid by name
        self.leaving: set[Key] = set()
        self.events = 0
        self.bound = 0
        self.admissions = AdmissionJudge(self.model, self.recently, self.findings, self.refusals.left_pool)
        self.on_bound: Callable[[Key, float], None] = lambda key, at: None
        self._asked_at: dict[Key, float] = {}
        self._out_until: dict[str, float] = {}
        self._uids: dict[Key, str] = {}

    @property
    def sight_seconds(self) -> float:
        """How old the controller's picture may be now. May be changed while everything rests."""
        return self.refusals.sight

    @sight_seconds.setter
    def sight_seconds(self, seconds: float) -> None:
        self.refusals.sight = seconds

    # What clients were answered

    def asked(self, order: Order, *, at: float) -> None:
        self._asked_at[order.key] = at
        self.admissions.asked(order)
        self.refusals.asked(order.key, order, at=at)

    def created(self, order: Order, uid: str, *, at: float) -> None:
        asked_at = self._asked_at.get(order.key, at)
        self.admissions.admitted(order, asked_at=asked_at, since=asked_at - self.sight_seconds, at=at)
        self._ended(order)
        self.refusals.admitted(order.key, keeps=not order.dry_run)
        if order.dry_run:
            return
        if order.key in self.alive:
            self.findings.add(Wrong.DUPLICATE, f"{order.key} was created twice")
        self.alive[order.key] = uid

    def refused(self, order: Order, reason: str, *, at: float) -> None:
        self._ended(order)
        self.refusals.refused(order.key, reason, at=at)

    def not_stored(self, order: Order, *, at: float) -> None:
        """Take in that an order was admitted, perhaps, and that its name was taken."""
        self._ended(order)
        self.refusals.vanished(order.key, at=at)

    def unanswered(self, order: Order, admission: str | None, *, at: float) -> None:
        """Take in that nobody knows what became of an order. ``admission``: in which words the API server says that it got no answer
        about it; without faults it always gets one.
        """
        self._ended(order)
        self.refusals.vanished(order.key, at=at)
        if admission is not None and not self.refusals.tolerates_unknown:
            self.findings.add(Wrong.REFUSED, f"{order.key} was not judged: {admission}")

    def _ended(self, order: Order) -> None:
        self._asked_at.pop(order.key, None)
        self.admissions.ended(order)

    def leaves(self, key: Key) -> None:
        """Take in that a delete is about to be sent."""
        self.alive.pop(key, None)
        self.leaving.add(key)

    def never_was(self, key: Key) -> None:
        """Take in that the server knows no claim that was to be deleted."""
        self.leaving.discard(key)

    # What the API server tells

    def take(self, told: Told) -> None:
        self.events += 1
        if told.listed is not None:
            self.refusals.forget_open()
            self._take_list(told)
        elif told.object is not None:
            self._take_one(told, told.object, is_gone=told.type == "DELETED")
        self.close(at=told.at)

    def close(self, *, at: float) -> None:
        """Judge what could not be judged before now."""
        self.refusals.close(at=at)
        self.admissions.close(at=at)

    def _take_one(self, told: Told, found: Json, *, is_gone: bool) -> None:
        match told.kind.plural:
            case GPU_CLAIMS.plural if is_gone:
                self._claim_gone(ClaimFacts.read(found).key, at=told.at)
            case GPU_CLAIMS.plural:
                claim = ClaimFacts.read(found)
                old = self._put_claim(claim, at=told.at)
                self._check_claim(claim, old, at=told.at)
            case NODES.plural if is_gone:
                self.model.drop_node(found["metadata"]["name"])
            case NODES.plural:
                self._put_node(NodeFacts.read(found), at=told.at)
            case GPU_CLASSES.plural if is_gone:
                self.model.classes.pop(found["metadata"]["name"], None)
            case GPU_CLASSES.plural:
                self._put_class(ClassFacts.read(found), at=told.at)
            case RESOURCE_QUOTAS.plural if is_gone:
                self.model.drop_quota(QuotaFacts.read(found).key)
            case RESOURCE_QUOTAS.plural:
                self._put_quota(QuotaFacts.read(found), at=told.at)
            case NAMESPACES.plural:
                self.model.put_namespace(found)

    def _take_list(self, told: Told) -> None:
        """Take everything in before anything is judged: in a list, who came may stand before who left."""
        if told.kind is not GPU_CLAIMS:
            for found in told.listed or ():
                self._take_one(told, found, is_gone=False)
            return
        claims = [ClaimFacts.read(found) for found in told.listed or ()]
        for key in self.model.claims.keys() - {claim.key for claim in claims}:
            self._claim_gone(key, at=told.at)
        changed = [(claim, self._put_claim(claim, at=told.at)) for claim in claims]
        for claim, old in changed:
            self._check_claim(claim, old, at=told.at)

    def _put_claim(self, claim: ClaimFacts, *, at: float) -> ClaimFacts | None:
        old = self.model.claims.get(claim.key)
        if old is not None and old.uid != claim.uid:
            self.findings.add(Wrong.DUPLICATE, f"{claim.key} is {old.uid} and {claim.uid}")
        if old is not None and old.node != claim.node:
            self.refusals.left(old, at=at)
        self.model.put_claim(claim)
        return old

    def _claim_gone(self, key: Key, *, at: float) -> None:
        claim = self.model.drop_claim(key)
        self._uids.pop(key, None)
        if claim is not None:
            self.refusals.left(claim, at=at)
            self.refusals.is_gone(claim)
        if self.alive.pop(key, None) is not None:
            self.findings.add(Wrong.LOST, f"{key} is gone and nobody deleted it")
        self.leaving.discard(key)

    def _check_claim(self, claim: ClaimFacts, old: ClaimFacts | None, *, at: float) -> None:
        since = self._since(claim, at)
        if self._uids.get(claim.key) != claim.uid:
            self._uids[claim.key] = claim.uid
            self._check_budgets(claim, since=since, at=at)
            resource = self.model.resource_of(claim.class_name)
            if resource is not None and claim.node is None:
                self.admissions.stored(claim.key, resource, since=since, at=at)
        before = old.node if old is not None else None
        if before and claim.node != before and not self._may_leave(claim, before, at=at):
            if claim.node:
                self.findings.add(
                    Wrong.DUPLICATE, f"{claim.key} was bound to {before} and then to {claim.node}"
                )
            else:
                self.findings.add(Wrong.LOST, f"{claim.key} was taken from {before}")
        if claim.node and claim.node != before:
            self.bound += 1
            self.refusals.arrived(claim)
            self.on_bound(claim.key, at)
            # A move was decided a moment ago, whenever the order came.
            self._check_node(claim, claim.node, since=at - self.sight_seconds if before else since, at=at)
        self.refusals.changed(claim, at=at)

    def _since(self, claim: ClaimFacts, at: float) -> float:
        """Give the oldest time at which somebody may have looked before they decided on the claim."""
        asked_at = self.refusals.asked_at.get(claim.key, at)
        return min(asked_at, at) - self.sight_seconds

    def _check_node(self, claim: ClaimFacts, node: str, *, since: float, at: float) -> None:
        classes = self.recently.classes(claim.class_name, at=at, since=since)
        resource = self.model.resource_of(claim.class_name)
        if resource is None:
            self.findings.add(Wrong.OVERSOLD, f"{claim.key} is bound and its class is unknown")
            return
        if not any(self.recently.serves(found, node, since=since) for found in classes):
            self.findings.add(
                Wrong.OVERSOLD, f"{claim.key} was bound to {node}, which does not serve {claim.class_name}"
            )
        had = self.recently.units(node, resource, at=at, since=since)
        held = self.model.held(node, resource)
        if held > had:
            self.findings.add(Wrong.OVERSOLD, f"{node} has {had} of {resource}, {held} are held: {claim.key}")

    def _check_budgets(self, claim: ClaimFacts, *, since: float, at: float) -> None:
        for pool in self.model.pools(claim.key[0], claim.class_name):
            limit = self.recently.limit(pool, at=at, since=since)
            used = self.model.used(pool)
            if used > limit:
                self.findings.add(
                    Wrong.OVERRUN,
                    f"{pool.owner} may use {limit} of {pool.subject}, {used} are used: {claim.key}",
                )

    def _may_leave(self, claim: ClaimFacts, node: str, *, at: float) -> bool:
        """Say whether the claim may go from its node to another one: the node is out of service, or the rest of its set is there."""
        members = self.model.companions(claim)
        classes = [self.model.classes.get(member.class_name) for member in members]
        if claim.node is None or any(found is None or not found.moves for found in classes):
            return False
        return self._out_until.get(node, 0.0) + MOVE_SECONDS >= at or any(
            member.node == claim.node for member in members if member.key != claim.key
        )

    def _put_node(self, node: NodeFacts, *, at: float) -> None:
        old = self.model.nodes.get(node.name)
        if old == node:
            return
        self.recently.node_changes(old, node.name, at=at)
        if not node.is_in_service:
            self._out_until[node.name] = float("inf")
        elif node.name in self._out_until:
            self._out_until[node.name] = min(self._out_until[node.name], at)
        self.model.put_node(node)
        self.refusals.node_changed(node, old, at=at)

    def _put_class(self, found: ClassFacts, *, at: float) -> None:
        old = self.model.classes.get(found.name)
        self.model.classes[found.name] = found
        if old is None or old.rules() != found.rules():
            if old is not None:
                self.recently.class_changes(old, at=at)
            self.refusals.class_changed(found.name, at=at)

    def _put_quota(self, quota: QuotaFacts, *, at: float) -> None:
        namespace = quota.key[0]
        known = self.model.quotas.get(quota.key)
        if known is None or known.limits != quota.limits:
            for pool in self.model.known_pools(namespace):
                self.recently.limit_changes(pool, at=at)
            self.refusals.budget_changed(namespace, at=at)
        self.model.put_quota(quota)
