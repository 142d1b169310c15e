"""The hoster's pages of offers: list, publish, edit, withdraw."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from catalog.exports import offers_file
from catalog.offer_form import OfferForm, act_on_rows
from catalog.offer_page import differences, offer_page
from catalog.offer_rows import OFFER_COLUMNS, offer_rows, offers_like
from catalog.prices import price_of, set_price
from catalog.services import (
    EditedMeanwhile,
    HasClaims,
    Loaded,
    Written,
    create_class,
    delete_class,
    update_class,
)
from kube.errors import AlreadyExists, Invalid, KubeError
from portal.access import hoster_required
from portal.cluster import gateway_for
from portal.errors import Problem, from_kube_error
from portal.http import PortalRequest, is_fragment
from portal.listing import list_page, sorted_chunks
from portal.models import ClaimRecord, ClassRecord

NAME_TAKEN = "There is an offer of this name already. Choose another."
HOLDS_SHOWN = 100


@require_safe
@hoster_required
def offers(request: PortalRequest) -> HttpResponseBase:
    """List the offers."""
    words = request.GET.get("q", "").strip()[:100]
    found = offers_like(words)
    if wanted := request.GET.get("export", ""):
        rows = sorted_chunks(request, found, columns=OFFER_COLUMNS, sort="name", unique=("name",))
        return offers_file(rows, wanted)
    page = list_page(request, found, columns=OFFER_COLUMNS, sort="name", unique=("name",))
    shown = {"page": page, "rows": offer_rows(page.rows), "words": words}
    template = "catalog/offers.html#rows" if is_fragment(request) else "catalog/offers.html"
    return render(request, template, shown)


@require_http_methods(["GET", "HEAD", "POST"])
@hoster_required
def offer_new(request: PortalRequest) -> HttpResponse:
    """Publish an offer."""
    form = OfferForm(request.POST.dict() if request.method == "POST" else None)
    if request.method != "POST":
        return _show(request, form)
    if act_on_rows(form, request.POST.get("act", "")):
        form.forget_faults()
        return _show(request, form)
    problem = None
    if form.is_valid():
        name = form.cleaned_data["name"]
        try:
            written = create_class(
                access=request.access, gateway=gateway_for(request.user), name=name, spec=form.spec()
            )
        except AlreadyExists:
            form.add_error("name", NAME_TAKEN)
        except KubeError as error:
            problem = _put_at_fields(form, error)
        else:
            return _written(request, form, written, f"Published {name}.")
    return _show(request, form, problem=problem, status=problem.status if problem else 422)


@require_http_methods(["GET", "HEAD", "POST"])
@hoster_required
def offer_edit(request: PortalRequest, name: str) -> HttpResponse:
    """Edit an offer: only what was changed is sent, and never over somebody else's change unseen."""
    stored = _offer_or_404(name).object
    if request.method != "POST":
        return _show(request, OfferForm.of(stored, price=price_of(name)))
    form = OfferForm(request.POST.dict(), stored=stored)
    if act_on_rows(form, request.POST.get("act", "")):
        form.forget_faults()
        return _show(request, form)
    problem = None
    if form.is_valid():
        loaded = Loaded(uid=form.cleaned_data["uid"], generation=form.cleaned_data["generation"] or 0)
        try:
            written = update_class(
                access=request.access,
                gateway=gateway_for(request.user),
                name=name,
                loaded=loaded,
                fields=form.spec(),
            )
        except EditedMeanwhile as error:
            changed = differences(error.current, form)
            return _show(request, form.based_on(error.current), theirs=changed, status=409)
        except KubeError as error:
            problem = _put_at_fields(form, error)
        else:
            return _written(request, form, written, f"Saved {name}.")
    return _show(request, form, problem=problem, status=problem.status if problem else 422)


@require_http_methods(["GET", "HEAD", "POST"])
@hoster_required
def offer_delete(request: PortalRequest, name: str) -> HttpResponse:
    """Withdraw an offer that nobody holds; else show the holds that forbid it."""
    record = _offer_or_404(name)
    problem = None
    if request.method == "POST":
        try:
            delete_class(
                access=request.access,
                gateway=gateway_for(request.user),
                name=name,
                uid=request.POST.get("uid") or None,
            )
        except HasClaims as error:
            detail = f"{error.claims} hold it. Release them first; what is held is never taken away by this."
            problem = Problem(status=409, title=f"{record.title} cannot be withdrawn", detail=detail)
        except KubeError as error:
            problem = from_kube_error(error)
        else:
            set_price(name, None, access=request.access)
            messages.success(request, f"Withdrew {name}.")
            return redirect("offers")
    holders = ClaimRecord.objects.of_class(name).in_order()
    shown = {
        "record": record,
        "holds": holders[:HOLDS_SHOWN],
        "held": holders.count(),
        "problem": problem,
    }
    return render(request, "catalog/offer_delete.html", shown, status=problem.status if problem else 200)


def _offer_or_404(name: str) -> ClassRecord:
    record = ClassRecord.objects.filter(name=name).first()
    if record is None:
        raise Http404("no such offer")
    return record


def _show(
    request: PortalRequest,
    form: OfferForm,
    *,
    problem: Problem | None = None,
    theirs: list[tuple[str, str, str]] | None = None,
    status: int = 200,
) -> HttpResponse:
    shown = {**offer_page(form), "problem": problem, "theirs": theirs or []}
    return render(request, "catalog/offer_form.html", shown, status=status)


def _put_at_fields(form: OfferForm, error: KubeError) -> Problem | None:
    """Put what the API server found at its fields; give the problem when it is about no field."""
    problem = from_kube_error(error)
    if isinstance(error, Invalid) and problem.causes:
        form.add_causes({cause.field: cause.message for cause in problem.causes})
        return None
    return problem


def _written(request: PortalRequest, form: OfferForm, written: Written, done: str) -> HttpResponse:
    if form.price_change != "untouched":
        set_price(written.gpu_class.metadata.name, form.price_change, access=request.access)
    messages.success(request, done)
    for warning in written.warnings:
        messages.warning(request, f"The cluster warns: {warning}")
    return redirect("offer-edit", written.gpu_class.metadata.name)
