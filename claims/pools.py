"""The budgets around one tenant, put together from the mirror: one query, however many tenants share them.

Only what can matter is put together: the sub-tree below the highest ancestor that sets a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Q, Sum

from gpu.budgets import Budgets
from gpu.corekinds import Namespace, ObjectMeta
from gpu.tenants import ANCESTOR_LABEL_PREFIX
from portal.models import ClaimRecord
from portal.tenancy import Tree, budget_quotas, tree


@dataclass(frozen=True)
class Held:
    """Units of one offer in one tenant: all of them, waiting and releasing included, and those that are being released."""

    units: int
    releasing: int


@dataclass(frozen=True)
class Standing:
    """Where a tenant stands: the budgets its orders count against, and what it holds itself, by offer."""

    budgets: Budgets
    held: Mapping[str, Held]


def standing_of(namespace: str) -> Standing:
    """Count what this tenant holds, and what all those hold who share a budget with it."""
    budgets, around = _limits_around(namespace)
    held: dict[str, Held] = {}
    for member, class_name, units, releasing in _held_by(around):
        budgets.charge(member, class_name, units)
        if member == namespace:
            held[class_name] = Held(units, releasing)
    return Standing(budgets, held)


def _limits_around(namespace: str) -> tuple[Budgets, set[str]]:
    """Give the budgets without what is used of them, and the namespaces whose holds may count against them."""
    budgets = Budgets()
    known, quotas = tree(), budget_quotas()
    above = known.above.get(namespace, ())
    limited = [name for name in (namespace, *above) if name in quotas]
    if not limited:
        return budgets, {namespace}
    top = min(limited, key=lambda name: (len(known.above.get(name, ())), name))
    around = {namespace, *above, top, *known.below.get(top, ())}
    for name in around:
        budgets.set_namespace(_namespace(name, known))
        for quota in quotas.get(name, ()):
            budgets.set_quota(quota)
    return budgets, around


def _held_by(namespaces: Iterable[str]) -> Iterable[tuple[str, str, int, int]]:
    return (
        ClaimRecord.objects.filter(namespace__in=namespaces)
        .order_by()
        .values_list("namespace", "class_name")
        .annotate(
            units=Sum("count"), releasing=Sum("count", filter=Q(deleting_since__isnull=False), default=0)
        )
    )


def _namespace(name: str, known: Tree) -> Namespace:
    """Give the namespace as far as budgets read it."""
    labels = {f"{ANCESTOR_LABEL_PREFIX}{above}": "" for above in known.above.get(name, ())}
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))
