"""The hoster's pages of stock: overview, nodes."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from catalog.exports import nodes_file
from catalog.feeds import feeds
from catalog.node_page import node_page
from catalog.node_rows import NODE_COLUMNS, node_rows, nodes_like
from catalog.offer_rows import STOCK_COLUMNS, in_order, is_like, offer_rows
from catalog.problems import problems
from portal.access import hoster_required
from portal.http import PortalRequest, is_fragment
from portal.listing import heads_of, list_page, sorted_chunks
from portal.models import ClassRecord, NodeRecord

NODE_STATES = (("ready", "Ready"), ("cordoned", "Cordoned"), ("not-ready", "Not ready"))


@require_safe
@hoster_required
def overview(request: PortalRequest) -> HttpResponse:
    """Stock of every offer, what to look at, how fresh the feeds are."""
    words = request.GET.get("q", "").strip()[:100]
    offers = list(ClassRecord.objects.offered())
    wished, heads = heads_of(request, STOCK_COLUMNS, sort="title")
    shown = {
        "heads": heads,
        "rows": in_order(offer_rows(offer for offer in offers if is_like(offer, words)), wished),
        "offers": len(offers),
        "words": words,
        "sort": request.GET.get("sort", ""),
        "problems": problems(offers),
        "feeds": feeds(),
    }
    template = "catalog/overview.html#live" if is_fragment(request) else "catalog/overview.html"
    return render(request, template, shown)


@require_safe
@hoster_required
def nodes(request: PortalRequest) -> HttpResponseBase:
    """List the nodes."""
    words, state = request.GET.get("q", "").strip()[:100], request.GET.get("state", "")
    found = nodes_like(words, state)
    if form := request.GET.get("export", ""):
        rows = sorted_chunks(request, found, columns=NODE_COLUMNS, sort="name", unique=("name",))
        return nodes_file(rows, form)
    page = list_page(request, found, columns=NODE_COLUMNS, sort="name", unique=("name",))
    shown = {
        "page": page,
        "rows": node_rows(page.rows),
        "words": words,
        "state": state,
        "states": NODE_STATES,
    }
    template = "catalog/nodes.html#rows" if is_fragment(request) else "catalog/nodes.html"
    return render(request, template, shown)


@require_safe
@hoster_required
def node(request: PortalRequest, name: str) -> HttpResponse:
    """Show one node."""
    record = NodeRecord.objects.filter(name=name).first()
    if record is None:
        raise Http404("no such node")
    template = "catalog/node.html#live" if is_fragment(request) else "catalog/node.html"
    return render(request, template, node_page(record))
