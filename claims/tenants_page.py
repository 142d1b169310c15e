"""All tenants, for the hoster: what each holds, and the way to act for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from django.db.models import Count, IntegerField, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from portal.access import hoster_required
from portal.export import csv_file
from portal.http import PortalRequest, is_fragment
from portal.listing import Column, list_page, sorted_chunks
from portal.models import ClaimRecord, NamespaceRecord
from portal.querysets import NamespaceQuerySet

HEADS: Final = ("tenant", "under", "holds", "gpus")


def _of_claims(total: Count | Sum) -> Coalesce:
    claims = ClaimRecord.objects.filter(namespace=OuterRef("name")).order_by().values("namespace")
    return Coalesce(Subquery(claims.annotate(total=total).values("total")), 0, output_field=IntegerField())


COLUMNS: Final = (
    Column("Tenant", "name"),
    Column("Under", "parent"),
    Column("Holds", "holds", "num", by=_of_claims(Count("pk"))),
    Column("GPUs", "gpus", "num", by=_of_claims(Sum("count"))),
    Column("", css="end"),
)


@dataclass(frozen=True)
class TenantRow:
    """One tenant with what it holds, and where to act for it."""

    name: str
    parent: str
    holds: int
    units: int
    holds_url: str
    order_url: str
    budget_url: str
    history_url: str


@require_safe
@hoster_required
def tenants(request: PortalRequest) -> HttpResponseBase:
    """List the tenants."""
    words = request.GET.get("q", "").strip()[:100]
    found = _like(words)
    if request.GET.get("export"):
        chunks = sorted_chunks(request, found, columns=COLUMNS, sort="name", unique=("name",))
        rows = chain.from_iterable(map(tenant_rows, chunks))
        lines = ((row.name, row.parent, row.holds, row.units) for row in rows)
        return csv_file("tenants", HEADS, lines)
    page = list_page(request, found, columns=COLUMNS, sort="name", unique=("name",))
    shown = {"page": page, "rows": tenant_rows(page.rows), "words": words}
    template = "claims/tenants.html#rows" if is_fragment(request) else "claims/tenants.html"
    return render(request, template, shown)


def _like(words: str) -> NamespaceQuerySet:
    rows = NamespaceRecord.objects.tenants()
    for word in words.split()[:5]:
        rows = rows.filter(Q(name__icontains=word) | Q(parent__icontains=word))
    return rows


def tenant_rows(records: Iterable[NamespaceRecord]) -> list[TenantRow]:
    """Make the rows, with one query for all that is held."""
    records = list(records)
    claims = ClaimRecord.objects.filter(namespace__in=[record.name for record in records]).order_by()
    held = {
        name: (holds, units)
        for name, holds, units in claims.values("namespace")
        .annotate(holds=Count("pk"), units=Sum("count"))
        .values_list("namespace", "holds", "units")
    }
    return [
        TenantRow(
            record.name,
            record.parent,
            *held.get(record.name, (0, 0)),
            holds_url=reverse("holds", args=[record.name]),
            order_url=reverse("order", args=[record.name]),
            budget_url=reverse("budget", args=[record.name]),
            history_url=reverse("history", args=[record.name]),
        )
        for record in records
    ]
