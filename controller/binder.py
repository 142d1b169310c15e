"""Door three: puts each claim where the ledger has charged it, and keeps its status true afterwards.

The ledger is charged before anything is written, and every write names the version it was decided on. Whatever comes back other
than yes leads to another look, never to a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import Enum, auto
from typing import Final, NamedTuple

import msgspec

from controller.claim_status import Situation, claim_status, wanted_finalizers
from controller.line import Line
from controller.metrics import BINDS
from controller.outages import Outages
from controller.refusals import still_refused, with_refusal
from controller.world import Key, World, key_of
from controller.writes import Writes
from gpu.conditions import BoundReason, ConditionType, HealthyReason, condition_of
from gpu.resources import GPUClaim, RefusedNode
from kube.kinds import GPU_CLAIMS, NODES, PODS


class Leaving(Enum):
    """Why a claim leaves its node. For the first two it would rather wait than stay."""

    GONE = auto()
    REFUSED = auto()
    APART = auto()
    CORDONED = auto()


_WAITS: Final = {Leaving.GONE: BoundReason.NODE_GONE, Leaving.REFUSED: BoundReason.NODE_REFUSED}


class Sent(NamedTuple):
    """A node that was written to a version of a claim, and no answer yet."""

    node_name: str
    uid: str
    version: str


class Binder:
    """Looks at one claim at a time per key. ``look_at`` is called with claims that should be looked at because of this one."""

    def __init__(
        self,
        writes: Writes,
        world: World,
        outages: Outages,
        *,
        now: Callable[[], datetime],
        clock: Callable[[], float],
        look_at: Callable[[Key], None],
    ) -> None:
        self.line = Line()
        self.restless: set[Key] = set()
        """Bound claims to look at again after a while: they would leave their node and cannot yet."""
        self._writes = writes
        self._world = world
        self._outages = outages
        self._now = now
        self._clock = clock
        self._look_at = look_at
        self._sent: dict[Key, Sent] = {}
        self._refusals: dict[Key, RefusedNode] = {}  # seen and not written down yet

    def refuse(self, key: Key, refused: RefusedNode) -> None:
        """Have a refusal written down with the next look at the claim and the rest of its set."""
        claim = self._world.claims.get(key)
        for member in self._world.set_of(claim) if claim is not None else ():
            self._refusals[key_of(member.metadata)] = refused
            self._look_at(key_of(member.metadata))

    async def look(self, key: Key) -> None:
        """Bring one claim's status and finalizer up to date."""
        self.restless.discard(key)
        claim = self._world.claims.get(key)
        if claim is None:
            self._refusals.pop(key, None)
            self._sent.pop(key, None)
            self._move_up(self.line.leave(key))
            return
        is_attached = self._world.ledger.attachment(*key) is not None
        steps = (self._write_refusal, self._write_finalizer, self._write_status)
        # A claim in use is kept back from deletion before its status says so, and let go only after.
        for step in steps if is_attached else (steps[0], steps[2], steps[1]):
            written = await step(claim)
            if written is None:
                return
            claim = written

    async def _write_refusal(self, claim: GPUClaim) -> GPUClaim | None:
        """Write a refusal down before anything is decided by it: a later leader must know it too."""
        key, now = key_of(claim.metadata), self._now()
        refused = self._refusals.get(key)
        if refused is None:
            return claim
        known = (entry for entry in claim.status.refused_nodes if entry.node_name == refused.node_name)
        if refused.expires_at > now and not any(entry.expires_at >= refused.expires_at for entry in known):
            nodes = with_refusal(claim.status.refused_nodes, refused, now=now)
            status = msgspec.structs.replace(claim.status, refused_nodes=nodes)
            written = await self._writes.status(GPU_CLAIMS, claim.metadata, status)
            if written is None:
                return None
            claim = written
        if self._refusals.get(key) is refused:
            del self._refusals[key]
        return claim

    async def _write_finalizer(self, claim: GPUClaim) -> GPUClaim | None:
        is_attached = self._world.ledger.attachment(*key_of(claim.metadata)) is not None
        finalizers = wanted_finalizers(claim, is_attached=is_attached)
        if finalizers is None:
            return claim
        return await self._writes.metadata(GPU_CLAIMS, claim.metadata, {"finalizers": finalizers})

    async def _write_status(self, claim: GPUClaim) -> GPUClaim | None:
        key, now = key_of(claim.metadata), self._now()
        status = claim_status(claim, self._situation(claim, now), now=now)
        if status == claim.status:
            return claim
        node_name = status.node_name if status.node_name != claim.status.node_name else None
        if node_name:
            self._sent[key] = Sent(node_name, claim.metadata.uid, claim.metadata.resource_version)
        written = await self._writes.status(GPU_CLAIMS, claim.metadata, status)
        if node_name:
            self._sent.pop(key, None)
            BINDS.inc()
            self._follow(claim)
        return written

    def _sent_to(self, claim: GPUClaim) -> str | None:
        """Name the node of a write that may have been stored, or may be yet: as long as no newer version is known."""
        metadata = claim.metadata
        sent = self._sent.get(key_of(metadata))
        is_open = sent is not None and (sent.uid, sent.version) == (metadata.uid, metadata.resource_version)
        return sent.node_name if sent is not None and is_open else None

    def _follow(self, claim: GPUClaim) -> None:
        """Have the members of the set looked at that waited for what becomes of this one."""
        for member in self._world.set_of(claim):
            if key_of(member.metadata) in self.restless:
                self._look_at(key_of(member.metadata))

    def _situation(self, claim: GPUClaim, now: datetime) -> Situation:
        key, node_name, ledger = key_of(claim.metadata), claim.status.node_name, self._world.ledger
        if not node_name:
            node_name = self._sent_to(claim) or self._place(claim, now)
            return Situation(node_name, waits_for=self._why_it_waits(claim))
        self._move_up(self.line.leave(key))  # somebody else may have written the node
        attached_to = ledger.attachment(*key)
        if attached_to is not None or claim.is_releasing:
            self._give_up_plan(claim)
        elif moved := self._departure(claim, node_name, now):
            return moved
        problems = ledger.health(*key)
        return Situation(
            node_name, attached_to=attached_to, health=problems[0] if problems else HealthyReason.HEALTHY
        )

    def _place(self, claim: GPUClaim, now: datetime) -> str | None:
        """Choose the node of a claim without one: what was reserved for it, else what is free when its turn has come."""
        key, ledger = key_of(claim.metadata), self._world.ledger
        has_turn = not self.line.is_behind(claim) and self._world.unknown_for() is None
        node_name = ledger.plan(*key, now=now) if has_turn or not ledger.waits(*key) else None
        if node_name is not None or claim.is_releasing:
            self._move_up(self.line.leave(key))
        else:
            holds_up = not has_turn or not self._is_kept_from_what_is_free(claim, now)
            self._move_up(self.line.join(claim, holds_up=holds_up))
        return node_name

    def _is_kept_from_what_is_free(self, claim: GPUClaim, now: datetime) -> bool:
        """Say whether a claim that finds no node has no use for what others would: its set is on a node, or the room refused it."""
        members, gpu_class = self._world.set_of(claim), self._world.classes.get(claim.spec.class_name)
        if gpu_class is None or any(member.status.node_name for member in members):
            return True
        refused = {
            entry.node_name for member in members for entry in still_refused(member.status.refused_nodes, now)
        }
        cells = (self._world.ledger.cell(node_name, gpu_class.resource_name) for node_name in refused)
        return any(cell.free >= claim.spec.count for cell in cells)

    def _move_up(self, first: Key | None) -> None:
        """Look at who has become the first of a line."""
        if first is not None:
            self._look_at(first)

    def _departure(self, claim: GPUClaim, node_name: str, now: datetime) -> Situation | None:
        """Say where a claim goes that nobody runs with and that has a reason to leave its node, or None when it stays.

        As long as it stays it is restless: what kept it may be over without a word about this claim.
        """
        key, ledger = key_of(claim.metadata), self._world.ledger
        members = self._world.set_of(claim)
        reason, sent_to = self._reason_to_leave(claim, node_name, now), self._sent_to(claim)
        if reason is None and sent_to is None:
            self._give_up_plan(claim)
            return None
        self.restless.add(key)
        if self._is_blind():
            return None
        if self._has_to_stay(claim, reason):
            self._give_up_plan(claim)
            return None
        if sent_to is not None:
            return Situation(sent_to)  # the same again, whatever speaks for it by now: only an answer ends it
        if any(self._sent_to(member) for member in members):
            return None  # a new plan for the set might give away what they were charged
        target = ledger.plan_move(*key, now=now)
        if target is not None:
            return Situation(target)
        if reason in _WAITS:
            return Situation(None, waits_for=_WAITS[reason])
        self._give_up_plan(claim)
        return None

    def _reason_to_leave(self, claim: GPUClaim, node_name: str, now: datetime) -> Leaving | None:
        members = self._world.set_of(claim)
        if node_name not in self._world.nodes:
            self._outages.missed(node_name, now=self._clock())
        if self._outages.is_over(node_name, now=self._clock()):
            return Leaving.GONE
        if any(_is_refused_by(node_name, member, now) for member in members):
            return Leaving.REFUSED
        if len({m.status.node_name for m in members if m.status.node_name and not m.is_releasing}) > 1:
            return Leaving.APART
        node = self._world.nodes.get(node_name)
        return Leaving.CORDONED if node is not None and node.spec.unschedulable else None

    def _has_to_stay(self, claim: GPUClaim, reason: Leaving | None) -> bool:
        """Say whether a VM runs with the set, a class of it is gone or does not want to leave for this reason."""
        key, ledger, members = key_of(claim.metadata), self._world.ledger, self._world.set_of(claim)
        return (
            any(ledger.attachment(*key_of(member.metadata)) for member in members)
            # Nowhere else would it be known what to hold.
            or any(member.spec.class_name not in self._world.classes for member in members)
            or (reason is Leaving.CORDONED and not ledger.leaves_cordoned_node(*key))
        )

    def _is_blind(self) -> bool:
        """Say whether a VM may have started, or a node come back, that nobody told of."""
        return self._world.is_silent(PODS, NODES) or self._world.unknown_for() is not None

    def _give_up_plan(self, claim: GPUClaim) -> None:
        """End a move decided earlier and overtaken, when the VM started or the node came back, unless it may be stored."""
        if self._sent_to(claim) is None:
            self._world.ledger.unplan(*key_of(claim.metadata))

    def _why_it_waits(self, claim: GPUClaim) -> BoundReason:
        if claim.spec.class_name not in self._world.classes:
            return BoundReason.CLASS_GONE
        before = condition_of(claim.status.conditions, ConditionType.BOUND)
        if before is not None and before.reason in (BoundReason.NODE_GONE, BoundReason.NODE_REFUSED):
            return BoundReason(before.reason)
        return BoundReason.NO_CAPACITY


def _is_refused_by(node_name: str, claim: GPUClaim, now: datetime) -> bool:
    return any(entry.node_name == node_name for entry in still_refused(claim.status.refused_nodes, now))
