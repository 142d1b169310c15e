"""The catalog: every offer, for whoever is signed in; a tenant also sees its own units and what its budgets leave."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from catalog.cards import card_of
from catalog.filters import CatalogFilter
from claims.catalog_viewer import viewer_of
from portal.access import signed_in
from portal.current_tenant import current_tenant, remember_tenant
from portal.freshness_words import freshness_words
from portal.http import PortalRequest, is_fragment
from portal.models import ClassRecord


@require_safe
@signed_in
def catalog(request: PortalRequest) -> HttpResponse:
    """Show every offer, narrowed by the filter in the address."""
    remember_tenant(request, request.GET.get("tenant", ""))
    records = list(ClassRecord.objects.offered())
    fresh = freshness_words()
    viewer = viewer_of(request.access, current_tenant(request), records, is_known=not fresh.is_stale)
    narrowed = CatalogFilter.of(request.GET)
    cards = narrowed.cards(card_of(record, viewer) for record in narrowed.records(records))
    shown = {
        "cards": cards,
        "offers": len(records),
        "fitting": sum(bool(card.biggest) for card in cards),
        "filter": narrowed,
        "choices": narrowed.choices(records),
        "tenant": viewer.tenant,
        "sees_stock": request.access.is_hoster,
        "freshness": fresh,
    }
    template = "catalog/catalog.html#cards" if is_fragment(request) else "catalog/catalog.html"
    return render(request, template, shown)
