"""What the page of the offer form shows beside the fields."""

from __future__ import annotations

from typing import Any, Final

from catalog.offer_form import OfferForm
from catalog.offer_rows import offer_rows
from catalog.prices import CURRENCIES
from catalog.resource_words import closest_resource, resource_warning
from catalog.selector_rows import MOST as MOST_LABELS
from catalog.selector_rows import SelectorRow
from catalog.toleration_rows import MOST as MOST_TOLERATIONS
from catalog.toleration_rows import TolerationRow
from gpu.conditions import condition_of
from gpu.resources import ConditionStatus, Effect, GPUClass, Operator, to_json
from portal.models import ClaimRecord, ClassRecord, NodeStock

_EFFECTS: Final = (("", "any effect"), *((effect.value, effect.value) for effect in Effect))
_OPERATORS: Final = tuple((operator.value, operator.value) for operator in (Operator.EQUAL, Operator.EXISTS))
_LABELS: Final = {
    "displayName": "Name on the catalog",
    "vendor": "Vendor",
    "model": "Model",
    "profile": "vGPU profile",
    "memory": "Memory of one unit",
    "maxCount": "Most in one VM",
    "onCordon": "When its node is cordoned",
    "source": "Extended resource",
    "nodeSelector": "Node labels",
    "tolerations": "Tolerations",
}


def offer_page(form: OfferForm) -> dict[str, Any]:
    """Collect it. Without rows there is one to begin with, for whoever has no JavaScript."""
    stored = form.stored
    advertised = sorted(
        set(NodeStock.objects.order_by("resource").values_list("resource", flat=True).distinct())
    )
    resource = str(form["resource_name"].value() or "")
    is_faulty = not resource or bool(form["resource_name"].errors)
    warning = "" if is_faulty else resource_warning(resource, advertised)
    return {
        "form": form,
        "stored": stored,
        "tolerations": form.tolerations or [TolerationRow()],
        "selector": form.selector or [SelectorRow()],
        "blank_toleration": TolerationRow(),
        "blank_selector": SelectorRow(),
        "most_tolerations": MOST_TOLERATIONS,
        "most_labels": MOST_LABELS,
        "effects": _EFFECTS,
        "operators": _OPERATORS,
        "currencies": CURRENCIES,
        "advertised": advertised,
        "resource_warning": warning,
        "closest": "" if is_faulty else closest_resource(resource, advertised),
        **(_as_it_is(stored, is_warned=bool(warning)) if stored is not None else {}),
    }


def _as_it_is(stored: GPUClass, *, is_warned: bool) -> dict[str, Any]:
    """Collect what the cluster says of it. What the warning at the resource says already is not said again."""
    name = stored.metadata.name
    record = ClassRecord.objects.filter(name=name).first()
    broken = [
        condition
        for condition in (
            condition_of(stored.status.conditions, kind)
            for kind in (("SourceUnshared",) if is_warned else ("Served", "SourceUnshared"))
        )
        if condition is not None and condition.status is ConditionStatus.FALSE
    ]
    return {
        "row": offer_rows([record])[0] if record else None,
        "held": ClaimRecord.objects.of_class(name).count(),
        "broken": broken,
    }


def differences(theirs: GPUClass, form: OfferForm) -> list[tuple[str, str, str]]:
    """Give each field in which the stored offer and the form differ: its label, theirs, yours."""
    stored = to_json(theirs)["spec"]
    mine = form.spec()
    return [
        (label, _plain(stored.get(name)), _plain(mine.get(name)))
        for name, label in _LABELS.items()
        if _plain(stored.get(name)) != _plain(mine.get(name))
    ]


def _plain(value: Any) -> str:
    if value in (None, [], {}):
        return "not set"
    if isinstance(value, dict):
        inner = value.get("devicePlugin", value)
        return ", ".join(f"{key}={item}" for key, item in sorted(inner.items()))
    if isinstance(value, list):
        return "; ".join(_plain_toleration(item) for item in value)
    return str(value)


def _plain_toleration(item: dict[str, Any]) -> str:
    key = item.get("key") or "any key"
    if item.get("operator", "Equal") == "Equal":
        key = f"{key}={item.get('value', '')}"
    seconds = item.get("tolerationSeconds")
    return f"{key}:{item.get('effect') or 'any effect'}" + ("" if seconds is None else f" for {seconds} s")
