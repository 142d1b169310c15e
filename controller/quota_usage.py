"""``status.used`` of GPU budgets, for the two spellings that no other controller writes.

The cluster owns ``requests.`` keys and keeps them at 0; what is written to the bare and ``limits.`` keys survives its resyncs.
Published is what the quota's pool uses: its namespace and those below that have no key of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.world import Key, World
from controller.writes import Writes
from gpu.budgets import MANAGED_BY_LABEL, subject_of
from gpu.corekinds import ResourceQuota
from kube.kinds import RESOURCE_QUOTAS

CLUSTER_OWNED: Final = "requests."


def published_keys(quota: ResourceQuota) -> dict[str, str]:
    """Give the quota's keys whose use is ours to publish, and the class name or "total" each stands for."""
    if quota.spec.scopes or quota.spec.scope_selector or MANAGED_BY_LABEL in quota.metadata.labels:
        return {}
    keys = ((key, subject_of(key)) for key in quota.spec.hard if not key.startswith(CLUSTER_OWNED))
    return {key: subject for key, subject in keys if subject is not None}


def usage_change(quota: ResourceQuota, used: Mapping[str, int]) -> dict[str, str | None]:
    """Give the members of ``status.used`` to set, and as None those of ours that the quota no longer sets.

    ``used``: units by class name or "total".
    """
    wanted = {key: str(used[subject]) for key, subject in published_keys(quota).items() if subject in used}
    stale = {
        key: None
        for key in quota.status.used
        if key not in quota.spec.hard and subject_of(key) is not None and not key.startswith(CLUSTER_OWNED)
    }
    changed = {key: value for key, value in wanted.items() if str(quota.status.used.get(key)) != value}
    return {**changed, **stale}


class QuotaPublisher:
    """Writes how much of each GPU budget is used. Called by key, one quota at a time."""

    def __init__(self, writes: Writes, world: World) -> None:
        self._writes = writes
        self._world = world

    async def look(self, key: Key) -> None:
        """Bring one quota's use up to date."""
        quota = self._world.quotas.get(key)
        if quota is None:
            return
        change = usage_change(quota, self._used_by_pool_of(key[0]))
        if change:
            await self._writes.status_members(RESOURCE_QUOTAS, quota.metadata, {"used": change})

    def _used_by_pool_of(self, namespace: str) -> dict[str, int]:
        return {
            subject: budget.used
            for budget in self._world.ledger.budgets.of_namespace(namespace)
            if budget.pool == namespace and (subject := subject_of(budget.key)) is not None
        }
