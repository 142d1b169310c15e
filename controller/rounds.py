"""Which objects to look at after what: after an event, after a change of the ledger, after some time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

from controller.binder import Binder
from controller.class_status import ClassPublisher
from controller.fenced import FencedGateway
from controller.gpunodes import GPUNodePublisher
from controller.lanes import Lanes
from controller.line import place_of
from controller.options import Timings
from controller.outages import Outages
from controller.pace import Pace
from controller.quota_usage import QuotaPublisher, published_keys
from controller.refusals import RefusalMemory, refusal_in
from controller.world import Key, World
from controller.writes import Writes
from gpu.corekinds import Pod
from gpu.resources import RefusedNode
from kube.kinds import GPU_CLASSES, GPU_NODES, NAMESPACES, NODES, PODS, RESOURCE_QUOTAS, AnyKind
from kube.watching import Event, EventType

QUOTA_INTERVAL_SECONDS: Final = 0.25
SLOW_SECONDS: Final = 5.0


class Rounds:
    """Sends objects to their lanes. Until the world is complete nothing is looked at; then everything is, once."""

    def __init__(
        self,
        gateway: FencedGateway,
        world: World,
        timings: Timings,
        *,
        tasks: asyncio.TaskGroup,
        now: Callable[[], datetime],
        clock: Callable[[], float],
    ) -> None:
        self._world = world
        self._now = now
        self._clock = clock
        self._outages = Outages(grace_seconds=timings.node_grace_seconds)
        self._refusals = RefusalMemory(seconds=timings.refusal_seconds)
        self._found: list[Pod] = []  # pods that had been refused before the world was complete
        self._slowly_looked_at = clock()
        writes = Writes(gateway, world)
        self._binder = Binder(writes, world, self._outages, now=now, clock=clock, look_at=self._look_at_claim)
        self._claims: Lanes[Key] = Lanes("claims", self._binder.look, tasks=tasks)
        self._classes: Lanes[str] = Lanes(
            "classes",
            ClassPublisher(writes, world, now=now).look,
            tasks=tasks,
            width=1,
            interval_seconds=timings.class_status_seconds,
            # Every order changes what some classes publish, and each such write costs the API server as much as an order does.
            pace=Pace(rush=20, lasting=5, allowance=60, round_seconds=4, clock=clock),
        )
        self._quotas: Lanes[Key] = Lanes(
            "quotas", QuotaPublisher(writes, world).look, tasks=tasks, interval_seconds=QUOTA_INTERVAL_SECONDS
        )
        # Narrow: a first start writes thousands, and orders come first.
        self._gpu_nodes: Lanes[str] = Lanes(
            "gpunodes", GPUNodePublisher(gateway, writes, world, now=now).look, tasks=tasks, width=2
        )

    def saw(self, kind: AnyKind, event: Event[Any]) -> None:
        """Look at what the event is about, and at what the ledger says it changed."""
        is_complete = self._world.is_complete
        if kind is NODES:
            self._saw_node(event)
        elif kind is PODS:
            self._saw_pod(event)
        if not is_complete:
            return
        if kind is NODES or kind is GPU_NODES:
            self._gpu_nodes.push(event.name)
        elif kind is GPU_CLASSES:
            self._classes.push(event.name)
        elif kind is RESOURCE_QUOTAS:
            self._quotas.push((event.namespace, event.name))
        self.follow_changes(is_tree_changed=kind is RESOURCE_QUOTAS or kind is NAMESPACES)

    def look_at_everything(self) -> None:
        """Look at every object. Called when the world has become complete."""
        self._world.ledger.take_changes()
        self._push_claims(self._world.claims)
        for pod in self._found:
            self._refuse(pod, is_new=False)
        self._found.clear()
        for name in self._world.classes:
            self._classes.push(name)
        for name in {*self._world.nodes, *self._world.gpu_nodes}:
            self._gpu_nodes.push(name)
        self._push_all_quotas()

    def follow_changes(self, *, is_tree_changed: bool = False) -> None:
        """Look at what the ledger says may be different."""
        changes = self._world.ledger.take_changes()
        if changes.claims:
            self._push_claims(changes.claims)
        for name in changes.classes:
            self._classes.push(name)
        if changes.quotas and is_tree_changed:
            self._push_all_quotas()
        elif changes.quotas:
            self._push_quotas(changes.quotas)

    def look_at_the_clock(self) -> None:
        """Look at what the passing of time may have changed. Called every second or so."""
        now = self._clock()
        for name in self._outages.newly_over(now=now):
            keys = self._world.ledger.claims_on(name)
            if not keys and name not in self._world.nodes:
                self._outages.forget(name)
            self._push_claims(keys)
        if now - self._slowly_looked_at >= SLOW_SECONDS:
            self._slowly_looked_at = now
            for key in self._binder.line.waiting():  # a refusal may have run out
                self._claims.push(key)
            self._push_claims(self._binder.restless)
        self.follow_changes()

    def _look_at_claim(self, key: Key) -> None:
        self._claims.push(key)

    def _push_claims(self, keys: Iterable[Key]) -> None:
        """The oldest first: lanes start in the order in which they are pushed."""
        known, gone = [], []
        for key in keys:
            claim = self._world.claims.get(key)
            if claim is None:
                gone.append(key)
            else:
                known.append(place_of(claim))
        known.sort()
        for key in gone:
            self._claims.push(key)
        for _, key in known:
            self._claims.push(key)

    def _push_quotas(self, namespaces: Iterable[str]) -> None:
        budgets = self._world.ledger.budgets
        owners = {budget.pool for namespace in namespaces for budget in budgets.of_namespace(namespace)}
        for owner in owners:
            for key in self._world.quotas_in(owner):
                self._quotas.push(key)

    def _push_all_quotas(self) -> None:
        for key, quota in self._world.quotas.items():
            if published_keys(quota):
                self._quotas.push(key)

    def _saw_node(self, event: Event[Any]) -> None:
        if event.type is EventType.DELETED:
            self._outages.missed(event.name, now=self._clock())
        elif event.object is not None:
            self._outages.saw(event.object, now=self._clock())

    def _saw_pod(self, event: Event[Any]) -> None:
        pod: Pod | None = event.object
        if event.type is EventType.DELETED:
            self._refusals.forget(event.uid)
        elif pod is not None and pod.status.phase == "Failed":
            if self._world.is_complete:
                self._refuse(pod, is_new=event.type is EventType.MODIFIED)
            else:
                self._found.append(pod)

    def _refuse(self, pod: Pod, *, is_new: bool) -> None:
        refusal = refusal_in(pod)
        if refusal is None:
            return
        now = self._now()
        expires_at = self._refusals.expires_at(refusal, now=now, is_new=is_new)
        if expires_at <= now:
            return
        refused = RefusedNode(node_name=refusal.node_name, reason=refusal.reason, expires_at=expires_at)
        for key in refusal.claims:
            self._binder.refuse(key, refused)
