"""The budgets around one tenant, put together from the mirror.

Only what can matter is read: the sub-tree below the highest ancestor that sets a budget. A tenant without any limit above it costs
three queries and no more.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, Sum

from gpu.budgets import Budgets, subject_of
from portal.models import ClaimRecord, NamespaceRecord, QuotaRecord


def budgets_around(namespace: str) -> Budgets:
    """Give the budgets that an order in this namespace counts against, with what is used of them."""
    budgets = Budgets()
    tree = {
        name: frozenset(ancestors)
        for name, ancestors in NamespaceRecord.objects.order_by("name").values_list("name", "ancestors")
    }
    chain = {namespace, *tree.get(namespace, ())}
    setting = {
        quota.namespace for quota in QuotaRecord.objects.filter(namespace__in=chain) if _is_budget(quota)
    }
    top = min(setting, key=lambda name: (len(tree.get(name, ())), name), default=namespace)
    around = {namespace, top, *(name for name, above in tree.items() if top in above)} | chain
    for record in NamespaceRecord.objects.filter(name__in=around):
        budgets.set_namespace(record.object)
    for quota in QuotaRecord.objects.filter(namespace__in=around):
        if _is_budget(quota):
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


def _is_budget(quota: QuotaRecord) -> bool:
    return any(subject_of(key) is not None for key in quota.hard)
