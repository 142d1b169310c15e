"""One term of leadership: a ledger built from fresh lists, and everything that acts on it.

Nothing is carried over from a term before. A new leader knows only what the API server tells it, and says CapacityUnknown until it
knows all of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import structlog

from controller.fenced import FencedGateway
from controller.leader import Leadership, LeaseLost
from controller.memory import settle_picture
from controller.metrics import RESERVATIONS_EXPIRED, SYNCED
from controller.options import Options
from controller.rounds import Rounds
from controller.webhook_config import WebhookAddress, install, webhook_configuration
from controller.world import WATCHED, World
from gpu.fit import Order, Refusal
from gpu.health import Harm
from gpu.ledger import Ledger
from gpu.resources import GPUClass
from kube.aio import AsyncGateway
from kube.errors import KubeError
from kube.kinds import AnyKind
from kube.watching import Event, EventType

log = structlog.get_logger(__name__)

WEBHOOK_CHECK_SECONDS: Final = 30.0
WEBHOOK_RETRY_SECONDS: Final = 1.0


class Term:
    """Judges orders (see :class:`controller.admission.Judge`) and keeps statuses true while the lease is held."""

    def __init__(
        self,
        gateway: AsyncGateway,
        leadership: Leadership,
        options: Options,
        *,
        is_successor: bool,
        webhook: WebhookAddress | None,
        on_ready: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime],
    ) -> None:
        self._gateway = gateway
        self._fenced = FencedGateway(gateway, leadership)
        self._leadership = leadership
        self._timings = options.timings
        self._webhook = webhook
        self._on_ready = on_ready
        self._clock = clock
        self._now = lambda: now().replace(microsecond=0)  # as Kubernetes writes times
        # Orders that the leader before us admitted may still be on their way to storage. Where somebody else installs the
        # webhook, no configuration of our name does not mean that API servers asked nobody before.
        is_successor = is_successor or webhook is None
        self._quiet_until = clock() + (options.timings.webhook_seconds if is_successor else 0)
        self._ledger = Ledger(require_schedulable_label=options.require_schedulable_label)
        self._world = World(
            self._ledger, stale_seconds=options.timings.stale_seconds, on_event=self._on_event, clock=clock
        )
        self._rounds: Rounds | None = None
        self._is_complete = asyncio.Event()
        self._is_webhook_installed = asyncio.Event()
        self._look_at_webhook = asyncio.Event()

    def look_at_webhook(self) -> None:
        """Compare the webhook configuration with what it should be now, not at the next turn."""
        self._look_at_webhook.set()

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._rounds = Rounds(
                    self._fenced, self._world, self._timings, tasks=tasks, now=self._now, clock=self._clock
                )
                for kind in WATCHED:
                    tasks.create_task(self._world.follow(self._gateway, kind))
                tasks.create_task(self._watch_the_clock())
                tasks.create_task(self._keep_webhook_installed())
                tasks.create_task(self._tell_when_ready())
        finally:
            SYNCED.set(0)

    def missing(self) -> list[str]:
        """Name what keeps an order from being judged now."""
        reasons = [f"{plural} are not listed yet" for plural in self._world.missing()]
        if not self._leadership.is_held:
            reasons.append("the lease is not held")
        if self._clock() < self._quiet_until:
            reasons.append("orders admitted by the controller before may still arrive")
        if not reasons and self._world.unknown_for() is not None:
            reasons.append("the watches are broken")
        if not self._is_webhook_installed.is_set():
            reasons.append("the webhook is not installed")
        return reasons

    def unknown_for(self) -> int | None:
        if not self._leadership.is_held or self._clock() < self._quiet_until:
            return 0
        return self._world.unknown_for()

    def judge(self, uid: str, order: Order, *, dry_run: bool) -> Sequence[Refusal]:
        if dry_run:
            return self._ledger.check(order).refusals
        expires_at = self._clock() + self._timings.reservation_seconds
        return self._ledger.reserve(uid, order, expires_at=expires_at).refusals

    def claims_of(self, class_name: str) -> int:
        return self._ledger.claims_of(class_name)

    def harm_of_edit(self, edited: GPUClass) -> Harm:
        return self._ledger.harm_of_edit(edited)

    def _on_event(self, kind: AnyKind, event: Event[Any]) -> None:
        assert self._rounds is not None  # noqa: S101  # watches start after it is made
        if event.type is not EventType.LISTED:
            self._rounds.saw(kind, event)
        elif self._world.is_complete and not self._is_complete.is_set():
            self._is_complete.set()
            log.info("the world is complete", claims=len(self._world.claims), nodes=len(self._world.nodes))
            settle_picture()
            self._rounds.look_at_everything()

    async def _watch_the_clock(self) -> None:
        await self._is_complete.wait()
        while True:
            await asyncio.sleep(self._timings.upkeep_seconds)
            expired = self._ledger.expire(self._clock())
            if expired:
                RESERVATIONS_EXPIRED.inc(len(expired))
                log.info("admitted orders never arrived", count=len(expired))
            SYNCED.set(self.unknown_for() is None)
            if self._rounds is not None:
                self._rounds.look_at_the_clock()

    async def _keep_webhook_installed(self) -> None:
        """Install the webhook and put it back when somebody removes or changes it."""
        while self._webhook is not None:
            self._look_at_webhook.clear()
            pause = WEBHOOK_CHECK_SECONDS
            try:
                wanted = webhook_configuration(self._webhook, timeout_seconds=self._timings.webhook_seconds)
                await install(self._fenced, wanted)
                self._is_webhook_installed.set()
            except KubeError as error:
                log.warning("the webhook cannot be installed, will try again", error=str(error))
                pause = WEBHOOK_RETRY_SECONDS
            except LeaseLost:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look_at_webhook.wait(), pause)
        self._is_webhook_installed.set()  # somebody else sees to it

    async def _tell_when_ready(self) -> None:
        await self._is_complete.wait()
        await self._is_webhook_installed.wait()
        await asyncio.sleep(max(0.0, self._quiet_until - self._clock()))
        self._on_ready()
