"""The tenant's pages of ordering and holding."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from claims.budget import budget_of
from claims.budget_words import budget_words
from claims.exports import history_file, holds_file
from claims.hold_page import hold_page
from claims.hold_rows import ALL_COLUMNS, COLUMNS, hold_rows, narrowed, title_of, titled, totals
from claims.models import EventKind, OrderEvent
from claims.order_form import OrderForm
from claims.order_page import first_form, offers_in_order, page_of, verdict_of
from claims.orders import NameTaken, OrderRefused, Placed
from claims.sent_forms import remember_sent, sent_before
from claims.services import place_order
from claims.services import release as release_claim
from claims.timeline import HISTORY_COLUMNS, event_lines
from gpu.conditions import Phase
from kube.errors import AlreadyExists, KubeError
from portal.access import Right, hoster_required, tenant_required
from portal.cluster import gateway_for
from portal.current_tenant import remember_tenant
from portal.errors import Problem, from_kube_error, refused
from portal.http import PortalRequest, is_fragment
from portal.listing import list_page, sorted_chunks
from portal.models import ClaimRecord, ClassRecord
from portal.signed_out import keeps_its_page

_UNIQUE = ("namespace", "name")
NAME_TAKEN = "You have a hold of this name already. Choose another."


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_required(Right.USE)
def order(request: PortalRequest, ns: str) -> HttpResponse:
    """Show the order form, filled in; place the order."""
    remember_tenant(request, ns)
    if request.method == "POST":
        return _place(request, ns, OrderForm(request.POST))
    offers = offers_in_order()
    form = first_form(request.GET.dict(), offers)
    page = page_of(request, request.access, ns, form, offers=offers)
    response = render(request, "claims/order.html", {**page, "asks_count": "count" not in request.GET})
    # The back button must find this very form: with the key it was sent with, sending it again is the same order.
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _place(request: PortalRequest, ns: str, form: OrderForm) -> HttpResponse:
    """Place a valid order; else show the form again with everything that was typed."""
    problem = None
    if form.is_valid() and request.POST.get("act") != "check":
        name = sent_before(request.session, form.spec(ns))
        if name is not None and ClaimRecord.objects.in_tenant(ns).filter(name=name).exists():
            messages.info(request, f"This order was placed already, as {name}.")
            return redirect("holds", ns)
        outcome = _attempt(request, ns, form)
        if isinstance(outcome, Placed):
            claim = outcome.claim
            remember_sent(request.session, form.spec(ns), name=claim.metadata.name)
            title = title_of(claim.spec.class_name)
            messages.success(request, f"Ordered {claim.spec.count} × {title} as {claim.metadata.name}.")
            for warning in outcome.warnings:
                messages.warning(request, f"The cluster warns: {warning}")
            return redirect("holds", ns)
        problem = outcome
    status = problem.status if problem else 200 if form.is_valid() else 422
    page = page_of(request, request.access, ns, form, problem=problem)
    return render(request, "claims/order.html", page, status=status)


def _attempt(request: PortalRequest, ns: str, form: OrderForm) -> Placed | Problem:
    try:
        return place_order(access=request.access, gateway=gateway_for(request.user), spec=form.spec(ns))
    except OrderRefused as error:
        return refused(error.refusals, retry_after_seconds=error.retry_after_seconds)
    except NameTaken as error:
        problem = from_kube_error(AlreadyExists(str(error), code=409))
        form.add_error("name", NAME_TAKEN)
        return problem
    except KubeError as error:
        return from_kube_error(error)


@keeps_its_page
@require_safe
@tenant_required(Right.USE)
def order_verdict(request: PortalRequest, ns: str) -> HttpResponse:
    """The verdict panel for what is typed at the moment."""
    form = OrderForm(request.GET)
    chosen = ClassRecord.objects.offered().filter(name=form["class_name"].value() or "").first()
    shown = verdict_of(request, request.access, ns, form, chosen)
    return render(request, "claims/order.html#verdict", {"tenant": ns, "is_fragment": True, **shown})


@require_safe
@tenant_required(Right.VIEW)
def holds(request: PortalRequest, ns: str) -> HttpResponseBase:
    """List what this tenant holds."""
    remember_tenant(request, ns)
    words, phase = request.GET.get("q", "").strip()[:100], request.GET.get("phase", "")
    mine = ClaimRecord.objects.visible_to(request.access).in_tenant(ns)
    found = titled(narrowed(mine, words=words, phase=phase))
    if form := request.GET.get("export", ""):
        rows = sorted_chunks(request, found, columns=COLUMNS, sort="name", unique=("name",))
        return holds_file(rows, form, name=f"holds-{ns}", sees_nodes=False)
    page = list_page(request, found, columns=COLUMNS, sort="name", unique=("name",))
    can_order = request.access.can_order(ns)
    shown = {
        "tenant": ns,
        "page": page,
        "rows": hold_rows(page.rows, can_release=can_order),
        "totals": totals(mine),
        "words": words,
        "phase": phase,
        "phases": list(Phase),
        "can_order": can_order,
    }
    template = "claims/holds.html#rows" if is_fragment(request) else "claims/holds.html"
    return render(request, template, shown)


@require_safe
@hoster_required
def all_holds(request: PortalRequest) -> HttpResponseBase:
    """List what all tenants hold, for the hoster."""
    words, phase = request.GET.get("q", "").strip()[:100], request.GET.get("phase", "")
    everyones = ClaimRecord.objects.visible_to(request.access)
    found = titled(narrowed(everyones, words=words, phase=phase, sees_nodes=True))
    if form := request.GET.get("export", ""):
        rows = sorted_chunks(request, found, columns=ALL_COLUMNS, sort="namespace", unique=_UNIQUE)
        return holds_file(rows, form, name="holds", sees_nodes=True)
    page = list_page(request, found, columns=ALL_COLUMNS, sort="namespace", unique=_UNIQUE)
    shown = {
        "page": page,
        "rows": hold_rows(page.rows, can_release=True, sees_nodes=True),
        "totals": totals(everyones),
        "words": words,
        "phase": phase,
        "phases": list(Phase),
    }
    template = "claims/all_holds.html#rows" if is_fragment(request) else "claims/all_holds.html"
    return render(request, template, shown)


def _claim_or_404(request: PortalRequest, ns: str, name: str) -> ClaimRecord:
    record = titled(ClaimRecord.objects.visible_to(request.access).in_tenant(ns)).filter(name=name).first()
    if record is None:
        raise Http404("no such hold")
    return record


@require_safe
@tenant_required(Right.VIEW)
def hold(request: PortalRequest, ns: str, name: str) -> HttpResponse:
    """Show one hold."""
    shown = hold_page(request.access, _claim_or_404(request, ns, name))
    template = "claims/hold.html#live" if is_fragment(request) else "claims/hold.html"
    return render(request, template, shown)


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_required(Right.USE)
def release(request: PortalRequest, ns: str, name: str) -> HttpResponse:
    """Ask before releasing; release what the person was looking at."""
    if request.method == "POST":
        return _release(request, ns, name)
    record = _claim_or_404(request, ns, name)
    template = "claims/release.html#question" if is_fragment(request) else "claims/release.html"
    return render(request, template, {"tenant": ns, "record": record, "title": title_of(record.class_name)})


def _release(request: PortalRequest, ns: str, name: str) -> HttpResponse:
    try:
        released = release_claim(
            access=request.access,
            gateway=gateway_for(request.user),
            namespace=ns,
            name=name,
            uid=request.POST.get("uid") or None,
        )
    except KubeError as error:
        problem = from_kube_error(error)
        record = ClaimRecord.objects.in_tenant(ns).filter(name=name).first()
        shown = {"tenant": ns, "record": record, "title": name, "problem": problem}
        return render(request, "claims/release.html", shown, status=problem.status)
    if released.claim is None:
        messages.success(request, f"Released {name}.")
    else:
        messages.success(request, f"Releasing {name}: it is free as soon as its VM has stopped.")
    return redirect("all-holds") if request.access.is_hoster else redirect("holds", ns)


@require_safe
@tenant_required(Right.VIEW)
def budget(request: PortalRequest, ns: str) -> HttpResponse:
    """Show what this tenant may hold, and holds."""
    remember_tenant(request, ns)
    shown = {"tenant": ns, "lines": budget_words(budget_of(ns), ns)}
    template = "claims/budget.html#lines" if is_fragment(request) else "claims/budget.html"
    return render(request, template, shown)


@require_safe
@tenant_required(Right.VIEW)
def history(request: PortalRequest, ns: str) -> HttpResponseBase:
    """Show every event of this tenant's orders, refused ones included."""
    remember_tenant(request, ns)
    words, kind = request.GET.get("q", "").strip()[:100], request.GET.get("kind", "")
    events = OrderEvent.objects.in_namespaces([ns]).like(words, kind)
    sees_nodes = request.access.is_hoster
    if form := request.GET.get("export", ""):
        rows = sorted_chunks(request, events, columns=HISTORY_COLUMNS, sort="-at", unique=("-id",))
        return history_file(rows, form, name=f"history-{ns}", sees_nodes=sees_nodes)
    page = list_page(request, events, columns=HISTORY_COLUMNS, sort="-at", unique=("-id",))
    shown = {
        "tenant": ns,
        "page": page,
        "lines": event_lines(page.rows, sees_nodes=sees_nodes),
        "words": words,
        "kind": kind,
        "kinds": EventKind.choices,
    }
    template = "claims/history.html#rows" if is_fragment(request) else "claims/history.html"
    return render(request, template, shown)
