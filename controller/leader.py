"""Who of several controllers decides: a Lease, taken and renewed by compare-and-swap on its resourceVersion.

Only the own monotonic clock is trusted. A holder counts from before it *asked* for a renewal and stops well before the lease runs
out; a follower counts from when it *saw* the lease change. So clocks that differ, or jump, never make two leaders.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog

from controller.metrics import LEADING
from controller.names import CONFIG_NAME, LEASE_NAME
from gpu.corekinds import Lease, LeaseSpec, ObjectMeta
from kube.aio import AsyncGateway
from kube.errors import AlreadyExists, Conflict, Forbidden, KubeError, NotFound
from kube.kinds import LEASES, NAMESPACES, WEBHOOKS

log = structlog.get_logger(__name__)

_UPTIME_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # Linux has the former


class LeaseLost(Exception):
    """A write was about to happen without the lease. It did not happen."""


@dataclass(frozen=True)
class LeaseTimes:
    """``renew_deadline_seconds`` is shorter than the lease: the gap is what a write already under way may take."""

    duration_seconds: int = 15
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0


def uptime() -> float:
    """Count seconds whatever happens to the time of day, and also while the machine sleeps: others may lead by then."""
    return time.clock_gettime(_UPTIME_CLOCK)


def utc_now() -> datetime:
    return datetime.now(UTC)


def micro_time(at: datetime) -> str:
    """Write a time as metav1.MicroTime wants it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Leadership:
    """The lease as this process sees it. ``is_held`` is checked before every write and every admission answer."""

    def __init__(
        self,
        gateway: AsyncGateway,
        *,
        namespace: str,
        identity: str,
        times: LeaseTimes,
        clock: Callable[[], float] = uptime,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.identity = identity
        self._gateway = gateway
        self._while_held = gateway.guarded(self.require)
        self._namespace = namespace
        self._times = times
        self._clock = clock
        self._now = now
        self._renewed_at: float | None = None
        self._seen_version = ""
        self._seen_at = clock()
        self._has_seen_one = False
        self._gone_since: float | None = None

    @property
    def is_held(self) -> bool:
        return (
            self._renewed_at is not None
            and self._clock() < self._renewed_at + self._times.renew_deadline_seconds
        )

    def require(self) -> None:
        """Raise LeaseLost unless the lease is still ours."""
        if not self.is_held:
            raise LeaseLost(f"{self.identity} does not hold {self._namespace}/{LEASE_NAME}")

    async def acquire(self) -> bool:
        """Wait until the lease is ours. True when someone held it before, so that orders they admitted may be on their way."""
        while True:
            asked_at = self._clock()
            try:
                is_successor = await self._take()
            except (Conflict, AlreadyExists):
                is_successor = None  # someone else was quicker; look again
            except KubeError as error:
                log.warning("cannot take the lease, will try again", error=str(error))
                is_successor = None
            if is_successor is not None:
                self._renewed_at = asked_at
                LEADING.set(1)
                log.info("leading", identity=self.identity)
                return is_successor
            await asyncio.sleep(self._times.retry_seconds)

    async def keep(self) -> None:
        """Renew until the lease is lost, then return."""
        while self.is_held:
            await asyncio.sleep(self._times.retry_seconds)
            asked_at = self._clock()
            try:
                async with asyncio.timeout(self._times.renew_deadline_seconds):
                    is_ours = await self._renew()
            except (KubeError, TimeoutError) as error:
                log.warning("cannot renew the lease, will try again", error=str(error))
                continue
            if not is_ours:
                break
            # A pause longer than the deadline (a stopped process) ended the term even when the renewal then went through.
            if self.is_held:
                self._renewed_at = asked_at
        self.drop()
        log.warning("lease lost", identity=self.identity)

    def drop(self) -> None:
        """Stop counting on the lease, without telling the API server."""
        self._renewed_at = None
        LEADING.set(0)

    async def release(self) -> None:
        """Give the lease back so that a follower need not wait for it to run out. Call when nothing writes any more."""
        if not self.is_held:
            return
        self.drop()
        try:
            lease = (await self._gateway.get(LEASES, LEASE_NAME, namespace=self._namespace)).object
            if lease.spec.holder_identity == self.identity:
                spec = LeaseSpec(
                    lease_duration_seconds=1,
                    renew_time=micro_time(self._now()),
                    lease_transitions=lease.spec.lease_transitions,
                )
                await self._write(lease, spec, through=self._gateway)
        except KubeError as error:
            log.warning("cannot release the lease, it will run out", error=str(error))

    async def _take(self) -> bool | None:
        """Take the lease if it is free. None: it is not; else whether someone held it before."""
        try:
            lease = (await self._gateway.get(LEASES, LEASE_NAME, namespace=self._namespace)).object
        except NotFound:
            return await self._make()
        self._has_seen_one, self._gone_since = True, None
        if lease.metadata.resource_version != self._seen_version:
            self._seen_version = lease.metadata.resource_version
            self._seen_at = self._clock()
        holder = lease.spec.holder_identity
        has_run_out = self._clock() >= self._seen_at + lease.spec.lease_duration_seconds
        # Our own name on it: this process was restarted under the same name, its predecessor is gone.
        if holder and holder != self.identity and not has_run_out:
            return None
        spec = self._spec(transitions=lease.spec.lease_transitions + 1)
        await self._write(lease, spec, through=self._gateway)
        return True

    async def _make(self) -> bool | None:
        """Make the lease where there is none. None: not yet; else whether someone may have held one before.

        A lease that was deleted has a holder who counts on it until the next renewal, at worst until the renewals' deadline. So
        whoever finds none waits for as long as a lease lasts from when it saw that, and is a successor then.

        The first start on a cluster need not wait. It is one when this process never saw a lease and there is no webhook
        configuration either: a leader installs that as its term begins and puts it back, so nobody leads; and without it no
        API server asks anybody about orders, so none that was admitted is on its way. (Where somebody else installs it, under
        another name perhaps, a term is quiet at first in any case.)
        """
        if self._gone_since is None:
            if not self._has_seen_one and not await self._may_be_led():
                await self._create()
                return False
            self._gone_since = self._clock()
            log.warning("there is no lease; its holder may not have noticed yet, will wait")
        if self._clock() < self._gone_since + self._times.duration_seconds:
            return None
        await self._create()
        return True

    async def _may_be_led(self) -> bool:
        """Say whether API servers may be asking a controller about orders. Who may not look has to believe it."""
        try:
            await self._gateway.get(WEBHOOKS, CONFIG_NAME)
        except NotFound:
            return False
        except Forbidden:
            pass
        return True

    async def _renew(self) -> bool:
        try:
            lease = (await self._gateway.get(LEASES, LEASE_NAME, namespace=self._namespace)).object
        except NotFound:
            return False
        if lease.spec.holder_identity != self.identity:
            return False
        spec = self._spec(transitions=lease.spec.lease_transitions, acquire_time=lease.spec.acquire_time)
        await self._write(lease, spec, through=self._while_held)
        return True

    def _spec(self, *, transitions: int, acquire_time: str = "") -> LeaseSpec:
        now = micro_time(self._now())
        return LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=self._times.duration_seconds,
            acquire_time=acquire_time or now,
            renew_time=now,
            lease_transitions=transitions,
        )

    async def _create(self) -> None:
        lease = Lease(metadata=ObjectMeta(name=LEASE_NAME), spec=self._spec(transitions=0))
        try:
            await self._gateway.create(LEASES, lease, namespace=self._namespace)
        except NotFound:  # the namespace itself: the first start on a bare cluster
            await self._gateway.create(NAMESPACES, {"metadata": {"name": self._namespace}})
            await self._gateway.create(LEASES, lease, namespace=self._namespace)
        self._has_seen_one, self._gone_since = True, None

    async def _write(self, lease: Lease, spec: LeaseSpec, *, through: AsyncGateway) -> None:
        metadata = ObjectMeta(name=LEASE_NAME, resource_version=lease.metadata.resource_version)
        await through.replace(LEASES, Lease(metadata=metadata, spec=spec), namespace=self._namespace)
