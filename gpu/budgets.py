"""How much a tenant may hold: GPU budgets written as ResourceQuota keys, counted over the tenant tree.

A budget is set for one class (``gpu.cozystack.io/<class>``) or for all (``gpu.cozystack.io/total``), in units. The bare,
``requests.`` and ``limits.`` spellings are one key; of several quotas the smallest counts; no key is no limit and 0 forbids.

A namespace counts against the nearest namespace, itself first and then its ancestors, that declares the key: the owner of the
pool. Every namespace that finds the same owner is a member of that pool. A descendant with a key of its own is a carve-out: its
whole limit is taken off the pool above it, used or not.

Not read: quotas with scopes (a scope selects pods, and a claim is none), quotas that Cozystack derives from these very budgets
(``quota.cozystack.io/managed-by``), and values that are no whole number of units.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gpu.corekinds import Namespace, ResourceQuota
from gpu.fit import Budget
from gpu.quantities import parse_units
from gpu.resources import GROUP
from gpu.tenants import Tenants

TOTAL: Final = "total"
"""Never the name of a class: the CRD refuses it."""
MANAGED_BY_LABEL: Final = "quota.cozystack.io/managed-by"
_SPELLINGS: Final = (f"{GROUP}/", f"requests.{GROUP}/", f"limits.{GROUP}/")


def budget_key(subject: str) -> str:
    """Give the bare spelling of a budget for a class name or :data:`TOTAL`."""
    return f"{GROUP}/{subject}"


def subject_of(key: str) -> str | None:
    """Read the class name, or :data:`TOTAL`, out of a quota key in any spelling; ``None`` for any other key."""
    for prefix in _SPELLINGS:
        if key.startswith(prefix):
            return key[len(prefix) :] or None
    return None


class Pool:
    """The namespaces that share one limit, and what they use of it."""

    __slots__ = ("limit", "owner", "quota", "subject", "used")

    def __init__(self, *, owner: str, subject: str, limit: int, quota: str, used: int) -> None:
        self.owner = owner
        self.subject = subject
        self.limit = limit
        self.quota = quota
        self.used = used

    def as_budget(self) -> Budget:
        return Budget(
            key=budget_key(self.subject),
            used=self.used,
            limit=self.limit,
            quota=self.quota,
            pool=self.owner,
            is_total=self.subject == TOTAL,
        )


class Budgets:
    """Every budget and what counts against it. Charging and asking cost the same however many claims there are."""

    def __init__(self) -> None:
        self._tenants = Tenants()
        self._quotas: dict[str, dict[str, dict[str, int]]] = {}  # namespace -> quota name -> subject -> units
        self._used: dict[str, dict[str, int]] = {}  # subject -> namespace -> units, without zeros
        # Resolved when asked for and dropped as a whole when a quota or the tree changes, which is rare.
        self._pools: dict[tuple[str, str], Pool | None] = {}

    def set_quota(self, quota: ResourceQuota) -> bool:
        """Take a quota in; say whether any budget changed by it."""
        return self._replace_quota(quota.metadata.namespace, quota.metadata.name, _limits_of(quota))

    def remove_quota(self, namespace: str, name: str) -> bool:
        return self._replace_quota(namespace, name, {})

    def set_namespace(self, namespace: Namespace) -> bool:
        """Take a namespace's place in the tree in; say whether it changed."""
        return self._forget_pools(self._tenants.set(namespace))

    def remove_namespace(self, name: str) -> bool:
        return self._forget_pools(self._tenants.remove(name))

    def charge(self, namespace: str, class_name: str, units: int) -> None:
        """Count units against the budgets of the namespace; negative units give them back."""
        for subject in (class_name, TOTAL):
            by_namespace = self._used.get(subject)
            if by_namespace is None:
                by_namespace = self._used[subject] = {}
            used = by_namespace.get(namespace, 0) + units
            if used:
                by_namespace[namespace] = used
            else:
                by_namespace.pop(namespace, None)
            pool = self._pools.get((namespace, subject))
            if pool is not None:
                pool.used += units

    def used(self, namespace: str, subject: str = TOTAL) -> int:
        """Give what the namespace alone uses, whoever's pool it counts against."""
        return self._used.get(subject, {}).get(namespace, 0)

    def for_order(self, namespace: str, class_name: str) -> tuple[Budget, ...]:
        """Give the class budget and the total budget that an order counts against, as far as they are set."""
        pools = (self._pool(namespace, class_name), self._pool(namespace, TOTAL))
        return tuple(pool.as_budget() for pool in pools if pool is not None)

    def of_namespace(self, namespace: str) -> tuple[Budget, ...]:
        """Give every budget the namespace counts against, classes by name and the total last."""
        subjects = {
            subject
            for owner in (namespace, *self._tenants.ancestors(namespace))
            for limits in self._quotas.get(owner, {}).values()
            for subject in limits
        }
        pools = [self._pool(namespace, subject) for subject in sorted(subjects - {TOTAL})]
        pools.append(self._pool(namespace, TOTAL))
        return tuple(pool.as_budget() for pool in pools if pool is not None)

    def pool_members(self, namespace: str, subject: str) -> tuple[tuple[str, int], ...]:
        """Give who shares the namespace's pool for the key and what each uses; nobody where no limit is set."""
        pool = self._pool(namespace, subject)
        if pool is None:
            return ()
        return tuple(
            (member, self.used(member, subject)) for member in sorted(self._members(pool.owner, subject))
        )

    def around(self, namespaces: Iterable[str]) -> set[str]:
        """Give everybody whose budgets may read differently when these namespaces' use or quotas change: they, whoever is below
        them, and whoever is below an ancestor of theirs that sets a budget."""
        tops = set(namespaces)
        for namespace in tuple(tops):
            tops.update(above for above in self._tenants.ancestors(namespace) if above in self._quotas)
        return tops.union(*(self._tenants.descendants(top) for top in tops))

    def unknown_keys(self, class_names: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Give ("namespace/name" of the quota, bare key) for every key that names no class: probable typos."""
        known = {*class_names, TOTAL}
        return tuple(
            (f"{namespace}/{name}", budget_key(subject))
            for namespace, quotas in sorted(self._quotas.items())
            for name, limits in sorted(quotas.items())
            for subject in sorted(limits.keys() - known)
        )

    def _replace_quota(self, namespace: str, name: str, limits: dict[str, int]) -> bool:
        quotas = self._quotas.get(namespace, {})
        if quotas.get(name, {}) == limits:
            return False
        if limits:
            self._quotas.setdefault(namespace, {})[name] = limits
        else:
            del quotas[name]
            if not quotas:
                del self._quotas[namespace]
        return self._forget_pools(True)

    def _forget_pools(self, changed: bool) -> bool:
        if changed:
            self._pools.clear()
        return changed

    def _declared(self, namespace: str, subject: str) -> tuple[int, str] | None:
        """Give the namespace's own limit and the quota that sets it."""
        quotas = self._quotas.get(namespace)
        if quotas is None:
            return None
        found = [
            (limits[subject], f"{namespace}/{name}") for name, limits in quotas.items() if subject in limits
        ]
        return min(found, default=None)

    def _owner(self, namespace: str, subject: str) -> str | None:
        for candidate in (namespace, *self._tenants.ancestors(namespace)):
            if self._declared(candidate, subject) is not None:
                return candidate
        return None

    def _members(self, owner: str, subject: str) -> set[str]:
        found = {
            descendant
            for descendant in self._tenants.descendants(owner)
            if self._owner(descendant, subject) == owner
        }
        return found | {owner}

    def _carved_out(self, owner: str, subject: str) -> int:
        """Add up the limits of the descendants that declare the key next below the owner."""
        total = 0
        for descendant in self._tenants.descendants(owner):
            declared = self._declared(descendant, subject)
            if declared is None:
                continue
            above = next(
                (a for a in self._tenants.ancestors(descendant) if self._declared(a, subject) is not None),
                None,
            )
            if above == owner:
                total += declared[0]
        return total

    def _pool(self, namespace: str, subject: str) -> Pool | None:
        try:
            return self._pools[namespace, subject]
        except KeyError:
            pass
        owner = self._owner(namespace, subject)
        declared = self._declared(owner, subject) if owner is not None else None
        if owner is None or declared is None:
            self._pools[namespace, subject] = None
            return None
        members = self._members(owner, subject)
        used = self._used.get(subject, {})
        pool = Pool(
            owner=owner,
            subject=subject,
            limit=max(0, declared[0] - self._carved_out(owner, subject)),
            quota=declared[1],
            used=sum(used.get(member, 0) for member in members),
        )
        for member in members:
            self._pools[member, subject] = pool
        return pool


def _limits_of(quota: ResourceQuota) -> dict[str, int]:
    if quota.spec.scopes or quota.spec.scope_selector or MANAGED_BY_LABEL in quota.metadata.labels:
        return {}
    limits: dict[str, int] = {}
    for key, value in quota.spec.hard.items():
        subject, units = subject_of(key), parse_units(value)
        if subject is not None and units is not None:
            limits[subject] = min(units, limits.get(subject, units))
    return limits
