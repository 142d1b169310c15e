"""The tenant tree and the budgets in it: what nearly every request needs, and what hardly ever changes.

A process reads them once and remembers them with the revision that the mirror gave them (:class:`portal.models.FeedState`). The
revision is read by every request, in the one query that also says how fresh the rows are; another one, and they are read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from gpu.budgets import subject_of
from gpu.corekinds import ResourceQuota
from portal.freshness import feed_states
from portal.models import NamespaceRecord, QuotaRecord

T = TypeVar("T")


@dataclass(frozen=True)
class Tree:
    """Every namespace with those above it and those below it, and which are tenants: whatever is below another one is."""

    above: Mapping[str, tuple[str, ...]]
    tenants: tuple[str, ...]
    below: Mapping[str, tuple[str, ...]]


@dataclass
class _Remembered(Generic[T]):
    """One thing read from the rows of one kind. The revision and what was read under it change hands together."""

    kind: str
    read: Callable[[], T]
    last: tuple[str, T] | None = field(default=None)

    def now(self) -> T:
        state = feed_states().get(self.kind)
        last = self.last
        if last is not None and state is not None and last[0] == state.revision:
            return last[1]
        # Rows are read after their revision: they are never older than it, and newer ones bring a newer revision.
        found = self.read()
        if state is not None:
            self.last = (state.revision, found)
        return found


def _read_tree() -> Tree:
    above: dict[str, tuple[str, ...]] = {}
    tenants: list[str] = []
    below: dict[str, list[str]] = {}
    rows = NamespaceRecord.objects.order_by("name").values_list("name", "is_tenant", "ancestors")
    for name, is_tenant, ancestors in rows:
        above[name] = tuple(ancestors)
        if is_tenant:
            tenants.append(name)
        for ancestor in ancestors:
            below.setdefault(ancestor, []).append(name)
    return Tree(above, tuple(tenants), {name: tuple(under) for name, under in below.items()})


def _read_quotas() -> Mapping[str, tuple[ResourceQuota, ...]]:
    found: dict[str, tuple[ResourceQuota, ...]] = {}
    for row in QuotaRecord.objects.order_by("namespace", "name"):
        if any(subject_of(key) is not None for key in row.hard):
            found[row.namespace] = (*found.get(row.namespace, ()), row.object)
    return found


_tree: Final = _Remembered(NamespaceRecord.KIND.plural, _read_tree)
_quotas: Final = _Remembered(QuotaRecord.KIND.plural, _read_quotas)


def tree() -> Tree:
    return _tree.now()


def budget_quotas() -> Mapping[str, tuple[ResourceQuota, ...]]:
    """Give the quotas that set a budget in GPUs, by namespace and name. Their status is as old as the remembering."""
    return _quotas.now()
