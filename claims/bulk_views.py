"""Releasing several holds of a tenant: ask once, say what is lost by each, then what became of each."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from claims.bulk_release import Chosen, release_chosen
from claims.hold_rows import hold_rows, titled
from portal.access import Right, tenant_required
from portal.cluster import gateway_for
from portal.http import PortalRequest, is_fragment
from portal.models import ClaimRecord

NOTHING_CHOSEN = "Tick the holds to release first."


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_required(Right.USE)
def release_many(request: PortalRequest, ns: str) -> HttpResponse:
    """Ask about the holds that were ticked; with ``act=release``, release them. Sending it again does no harm."""
    chosen = Chosen.read(request.POST.getlist("hold"))
    if request.method != "POST" or not chosen:
        if request.method == "POST":
            messages.info(request, NOTHING_CHOSEN)
        return redirect("holds", ns)
    if request.POST.get("act") == "release":
        outcomes = release_chosen(
            access=request.access, gateway=gateway_for(request.user), namespace=ns, chosen=chosen
        )
        kept = sum(outcome.is_kept for outcome in outcomes)
        return render(
            request,
            "claims/release_results.html",
            {"tenant": ns, "outcomes": outcomes, "kept": kept, "done": len(outcomes) - kept},
        )
    mine = ClaimRecord.objects.visible_to(request.access).in_tenant(ns)
    there = titled(mine.filter(uid__in=[one.uid for one in chosen])).in_order()
    rows = hold_rows(there, can_release=True)
    shown = {
        "tenant": ns,
        "rows": [row for row in rows if row.release_url],
        "units": sum(row.count for row in rows if row.release_url),
    }
    template = "claims/release_many.html#question" if is_fragment(request) else "claims/release_many.html"
    return render(request, template, shown)
