"""The budgets around one tenant, put together from the mirror.

Only what can matter is read: the sub-tree below the highest ancestor that sets a budget. A tenant without any limit above it costs
two queries, any other four.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, Sum

from gpu.budgets import Budgets, subject_of
from gpu.corekinds import Namespace, ObjectMeta
from gpu.tenants import ANCESTOR_LABEL_PREFIX
from portal.models import ClaimRecord, NamespaceRecord, QuotaRecord


def budgets_around(namespace: str) -> Budgets:
    """Give the budgets that an order in this namespace counts against, with what is used of them."""
    budgets = Budgets()
    tree: dict[str, list[str]] = dict(
        NamespaceRecord.objects.order_by("name").values_list("name", "ancestors")
    )
    above = tree.get(namespace, [])
    limited = {quota.namespace for quota in _budgets_in([namespace, *above])}
    if not limited:
        return budgets
    top = min(limited, key=lambda name: (len(tree.get(name, ())), name))
    around = {namespace, *above, top, *(name for name, ancestors in tree.items() if top in ancestors)}
    for name in around:
        budgets.set_namespace(_namespace(name, tree.get(name, [])))
    for quota in _budgets_in(around):
        budgets.set_quota(quota.object)
    for member, class_name, units in _held_by(around):
        budgets.charge(member, class_name, units)
    return budgets


def held_in(namespace: str) -> dict[str, tuple[int, int]]:
    """Give per offer the units this tenant holds, waiting and releasing included, and those that are being released."""
    rows = (
        ClaimRecord.objects.in_tenant(namespace)
        .order_by()
        .values_list("class_name")
        .annotate(
            units=Sum("count"), releasing=Sum("count", filter=Q(deleting_since__isnull=False), default=0)
        )
    )
    return {class_name: (units, releasing) for class_name, units, releasing in rows}


def _held_by(namespaces: Iterable[str]) -> Iterable[tuple[str, str, int]]:
    return (
        ClaimRecord.objects.filter(namespace__in=namespaces)
        .order_by()
        .values_list("namespace", "class_name")
        .annotate(units=Sum("count"))
    )


def _budgets_in(namespaces: Iterable[str]) -> list[QuotaRecord]:
    """Give the quotas that set a budget in GPUs."""
    quotas = QuotaRecord.objects.filter(namespace__in=namespaces).order_by("namespace", "name")
    return [quota for quota in quotas if any(subject_of(key) is not None for key in quota.hard)]


def _namespace(name: str, ancestors: Iterable[str]) -> Namespace:
    """Give the namespace as far as budgets read it."""
    labels = {f"{ANCESTOR_LABEL_PREFIX}{above}": "" for above in ancestors}
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))
