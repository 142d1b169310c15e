"""What the order page and its verdict panel show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from catalog.cards import facts_of
from catalog.offer_states import OfferState, state_of
from catalog.prices import money, price_of
from claims.as_code import order_as_code
from claims.order_form import OrderForm, new_order_key, suggested_name
from claims.orders import OrderSpec
from claims.preview import Alternative, preview
from claims.verdict_words import verdict_words
from portal.access import Access
from portal.errors import Problem
from portal.freshness import freshness
from portal.models import ClaimRecord, ClassRecord


@dataclass(frozen=True)
class OfferChoice:
    name: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class SetChoice:
    """Holds that share a VM already, by the name of their set."""

    name: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class Fit:
    """An order that would fit now."""

    label: str
    url: str


def first_form(query: Mapping[str, str], offers: list[ClassRecord]) -> OrderForm:
    """Give the form as it opens: everything is filled in already."""
    key = new_order_key()
    class_name = query.get("class", "") or (offers[0].name if offers else "")
    suggested = suggested_name(class_name, key)
    return OrderForm(
        {
            "class_name": class_name,
            "count": query.get("count", "") or "1",
            "name": query.get("name", "") or suggested,
            "suggested": suggested,
            "set_name": query.get("set", ""),
            "order_key": key,
        }
    )


def offers_in_order() -> list[ClassRecord]:
    """Give the offers as the catalog sorts them: what has room first."""
    records = ClassRecord.objects.offered()
    return sorted(records, key=lambda record: (not record.free, record.title.lower(), record.name))


def page_of(
    request: HttpRequest,
    access: Access,
    namespace: str,
    form: OrderForm,
    *,
    offers: list[ClassRecord] | None = None,
    problem: Problem | None = None,
) -> dict[str, Any]:
    """Give everything the page shows, for a form as it was sent or as it opens."""
    offers = offers_in_order() if offers is None else offers
    chosen = next((offer for offer in offers if offer.name == form["class_name"].value()), None)
    return {
        "form": form,
        "tenant": namespace,
        "problem": problem,
        "offers": [
            OfferChoice(offer.name, f"{offer.title} — {facts_of(offer)}", offer is chosen) for offer in offers
        ],
        "sets": _sets(namespace, form["set_name"].value() or ""),
        "chosen": chosen,
        "state": _state(chosen).pill if chosen else None,
        **verdict_of(request, access, namespace, form, chosen),
    }


def verdict_of(
    request: HttpRequest, access: Access, namespace: str, form: OrderForm, chosen: ClassRecord | None
) -> dict[str, Any]:
    """Give the verdict panel: the checks, what would fit, the order as code. Empty while the form is not right."""
    title = chosen.title if chosen else ""
    if not form.is_valid():
        return {"order_label": f"Order {title}".strip(), "form": form}
    spec = form.spec(namespace)
    answer = preview(access, spec)
    fits = [answer.smaller, *answer.others] if answer.smaller else list(answer.others)
    return {
        "form": form,
        "verdict": verdict_words(answer.verdict, namespace=namespace),
        "fits": [_fit(alternative, namespace, form) for alternative in fits],
        "code": order_as_code(
            spec,
            base_url=request.build_absolute_uri("/").rstrip("/"),
            username=access.username,
        ),
        "renamed": spec.name if spec.name != form.cleaned_data["name"] else "",
        "price": _price(spec),
        "order_label": f"Order {spec.count} × {title or spec.class_name}",
    }


def _fit(alternative: Alternative, namespace: str, form: OrderForm) -> Fit:
    """Give the order that would fit, with what was typed beside the offer and the count."""
    cleaned = form.cleaned_data
    query = {"class": alternative.class_name, "count": str(alternative.count)}
    if set_name := cleaned["new_set"] or cleaned["set_name"]:
        query["set"] = set_name
    if cleaned["name"] and cleaned["name"] != cleaned["suggested"]:
        query["name"] = cleaned["name"]
    address = f"{reverse('order', args=[namespace])}?{urlencode(query)}"
    return Fit(f"{alternative.count} × {alternative.title}", address)


def _price(spec: OrderSpec) -> str:
    price = price_of(spec.class_name)
    if price is None:
        return ""
    return f"{money(price.cents * spec.count, price.currency)} / h from now, VM on or off"


def _state(offer: ClassRecord) -> OfferState:
    return state_of(free=offer.free, is_served=offer.is_served, is_known=not freshness().is_stale)


def _sets(namespace: str, chosen: str) -> list[SetChoice]:
    """Give the sets of this tenant, each with the holds in it."""
    members: dict[str, list[str]] = {}
    rows = ClaimRecord.objects.in_tenant(namespace).alive().exclude(set_name="").order_by("set_name", "name")
    for set_name, name in rows.values_list("set_name", "name")[:500]:
        members.setdefault(set_name, []).append(name)
    if chosen and chosen not in members:
        members[chosen] = []
    return [
        SetChoice(name, f"{', '.join(names[:3]) or name} (set {name})", name == chosen)
        for name, names in members.items()
    ]
