"""The offer as a form: every field of the kind. Cleans, words each fault at its field, gives the spec as the API takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from django import forms
from django.forms.utils import ErrorDict

from catalog.memory_words import memory_fault
from catalog.names import label_fault
from catalog.prices import CURRENCIES, Price, currency_fault, price_fault, read_price
from catalog.resource_words import resource_fault
from catalog.selector_rows import MOST as MOST_LABELS
from catalog.selector_rows import SelectorRow, mark_repeated
from catalog.toleration_rows import MOST as MOST_TOLERATIONS
from catalog.toleration_rows import TolerationRow
from gpu.resources import INT32_MAX, GPUClass, Mode, OnCordon

_SHORT: Final = {
    "required": "Fill this in.",
    "max_length": "Too long: %(show_value)d of %(limit_value)d characters.",
}
_MODES: Final = [
    (Mode.PASSTHROUGH.value, "Passthrough: the whole GPU"),
    (Mode.VGPU.value, "vGPU: a part of it"),
]
_CORDON: Final = [
    (OnCordon.MOVE.value, "Move to another node while no VM runs with it"),
    (OnCordon.STAY.value, "Stay where it is"),
]
MOST_NAME: Final = 1000
_CAUSE: Final = re.compile(r"spec\.tolerations\[(\d+)\](?:\.(\w+))?")
_FIELDS: Final = {
    "metadata.name": "name",
    "spec.displayName": "display_name",
    "spec.vendor": "vendor",
    "spec.model": "model",
    "spec.mode": "mode",
    "spec.profile": "profile",
    "spec.memory": "memory",
    "spec.maxCount": "max_count",
    "spec.onCordon": "on_cordon",
    "spec.source": "resource_name",
    "spec.source.devicePlugin.resourceName": "resource_name",
}


class OfferForm(forms.Form):
    """What the hoster types. ``stored`` is the offer being edited: what is stored and untouched is never a fault."""

    name = forms.CharField(max_length=1000, error_messages=_SHORT)
    display_name = forms.CharField(required=False, max_length=256, error_messages=_SHORT)
    vendor = forms.CharField(max_length=63, error_messages=_SHORT)
    model = forms.CharField(max_length=63, error_messages=_SHORT)
    mode = forms.ChoiceField(choices=_MODES, error_messages={"invalid_choice": "Choose passthrough or vGPU."})
    profile = forms.CharField(required=False, max_length=63, error_messages=_SHORT)
    memory = forms.CharField(required=False, max_length=200)
    max_count = forms.CharField(required=False, max_length=200)
    on_cordon = forms.ChoiceField(choices=_CORDON, error_messages={"invalid_choice": "Choose Move or Stay."})
    resource_name = forms.CharField(max_length=MOST_NAME, error_messages=_SHORT)
    price = forms.CharField(required=False, max_length=40)
    currency = forms.CharField(required=False, max_length=40, initial=CURRENCIES[0])
    price_before = forms.CharField(required=False, max_length=60)
    uid = forms.CharField(required=False, max_length=128)
    generation = forms.IntegerField(required=False, min_value=0)

    def __init__(self, data: Mapping[str, Any] | None, *, stored: GPUClass | None = None) -> None:
        super().__init__(data)
        self.stored = stored
        self.tolerations = _rows(data or {}, "tolerations", TolerationRow.posted, MOST_TOLERATIONS)
        self.selector = _rows(data or {}, "selector", SelectorRow.posted, MOST_LABELS)
        if stored is not None:
            self.fields["name"].required = False
            self.fields["mode"].required = False

    @classmethod
    def of(cls, stored: GPUClass, *, price: Price | None = None) -> OfferForm:
        """Give the form of a stored offer, as it is spelled there."""
        shown = (price.amount, price.currency) if price else ("", CURRENCIES[0])
        spec = stored.spec
        form = cls(
            {
                "name": stored.metadata.name,
                "display_name": spec.display_name or "",
                "vendor": spec.vendor,
                "model": spec.model,
                "mode": spec.mode.value,
                "profile": spec.profile or "",
                "memory": "" if spec.memory is None else str(spec.memory),
                "max_count": "" if spec.max_count is None else str(spec.max_count),
                "on_cordon": spec.on_cordon.value,
                "resource_name": stored.resource_name,
                "price": shown[0],
                "currency": shown[1],
                "price_before": " ".join(shown),
                "uid": stored.metadata.uid,
                "generation": stored.metadata.generation,
            },
            stored=stored,
        )
        form.tolerations = [TolerationRow.of(toleration) for toleration in spec.tolerations or []]
        form.selector = [
            SelectorRow(key=key, value=value) for key, value in (spec.node_selector or {}).items()
        ]
        form.forget_faults()
        return form

    def clean_name(self) -> str:
        if self.stored is not None:
            return self.stored.metadata.name
        name: str = self.cleaned_data["name"]
        if fault := label_fault(name):
            raise forms.ValidationError(fault)
        if name == "total":
            raise forms.ValidationError("“total” is the budget of all offers. Choose another name.")
        return name

    def clean_mode(self) -> str:
        return self.stored.spec.mode.value if self.stored is not None else self.cleaned_data["mode"]

    def clean_memory(self) -> str:
        text: str = self.cleaned_data["memory"]
        is_stored = self.stored is not None and text == str(self.stored.spec.memory)
        if text and not is_stored and (fault := memory_fault(text)):
            raise forms.ValidationError(fault)
        return text

    def clean_max_count(self) -> int | None:
        text: str = self.cleaned_data["max_count"]
        if not text:
            return None
        if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= INT32_MAX:
            raise forms.ValidationError("Write a whole number from 1 up, or leave it empty.")
        return int(text)

    def clean_resource_name(self) -> str:
        name: str = self.cleaned_data["resource_name"]
        if fault := resource_fault(name):
            raise forms.ValidationError(fault)
        return name

    def clean_price(self) -> str:
        amount: str = self.cleaned_data["price"]
        if amount and (fault := price_fault(amount)):
            raise forms.ValidationError(fault)
        return amount

    def clean_currency(self) -> str:
        code: str = self.cleaned_data["currency"] or CURRENCIES[0]
        if fault := currency_fault(code):
            raise forms.ValidationError(fault)
        return code

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        mode, profile = cleaned.get("mode"), cleaned.get("profile")
        if mode == Mode.VGPU and not profile and "profile" not in self.errors:
            self.add_error("profile", "A vGPU offer names its profile, such as L40S-24C.")
        if mode == Mode.PASSTHROUGH and profile:
            self.add_error("profile", "Only a vGPU offer has a profile: empty the field.")
        self._check_rows()
        return cleaned

    def _check_rows(self) -> None:
        stored_labels = (self.stored.spec.node_selector or {}) if self.stored is not None else {}
        tolerations, selector = self._filled()
        checks = [row.check() for row in tolerations]
        checks += [row.check(stored=stored_labels) for row in selector]
        if not all([*checks, mark_repeated(selector)]):
            self.add_error(None, "Some rows are not right; each says why.")
        if len(tolerations) > MOST_TOLERATIONS:
            self.add_error(None, f"An offer has at most {MOST_TOLERATIONS} tolerations.")

    def _filled(self) -> tuple[list[TolerationRow], list[SelectorRow]]:
        return [row for row in self.tolerations if not row.is_blank], [
            row for row in self.selector if not row.is_blank
        ]

    def forget_faults(self) -> None:
        """Say nothing yet: the person is still filling the form in."""
        self._errors = ErrorDict()
        self.cleaned_data = {}

    def based_on(self, current: GPUClass) -> OfferForm:
        """Give the same input on top of what is stored now, so that saving again is a decision."""
        data = {**self.data, "uid": current.metadata.uid, "generation": current.metadata.generation}
        return OfferForm(data, stored=current)

    def spec(self) -> dict[str, Any]:
        """Give the spec; None is a field that is not set. Only for a valid form."""
        cleaned = self.cleaned_data
        tolerations, selector = self._filled()
        spec: dict[str, Any] = {
            "displayName": cleaned["display_name"] or None,
            "vendor": cleaned["vendor"],
            "model": cleaned["model"],
            "profile": cleaned["profile"] or None,
            "memory": cleaned["memory"] or None,
            "maxCount": cleaned["max_count"],
            "onCordon": cleaned["on_cordon"],
            "source": {"devicePlugin": {"resourceName": cleaned["resource_name"]}},
            "nodeSelector": {row.key: row.value for row in selector} or None,
            "tolerations": [row.toleration() for row in tolerations] or None,
        }
        if self.stored is None:
            spec["mode"] = cleaned["mode"]
        return spec

    @property
    def price_change(self) -> Price | Literal["untouched"] | None:
        """The price as typed, unless it is as it was when the page was opened. Only for a valid form."""
        cleaned = self.cleaned_data
        if "price" not in self.data:
            return "untouched"
        price = read_price(cleaned["price"], cleaned["currency"])
        now = f"{price.amount if price else ''} {cleaned['currency']}".strip()
        if now == cleaned["price_before"].strip():
            return "untouched"
        return price

    def add_causes(self, causes: Mapping[str, str]) -> None:
        """Put what the API server found at its fields; what has no field goes on top."""
        tolerations, _ = self._filled()
        for path, message in causes.items():
            row = _CAUSE.match(path)
            if row and int(row[1]) < len(tolerations):
                name = {"tolerationSeconds": "seconds"}.get(row[2] or "", row[2] or "key")
                tolerations[int(row[1])].faults[name] = message
            elif path in _FIELDS:
                self.add_error(_FIELDS[path], message)
            else:
                self.add_error(None, f"{path}: {message}" if path else message)


def act_on_rows(form: OfferForm, act: str) -> bool:
    """Add or remove a row, or take a resource that was offered, as a button asks; say whether it was one of these."""
    verb, _, rest = act.partition(":")
    if verb == "take" and rest:
        form.data = {**form.data, "resource_name": rest[:MOST_NAME]}
        return True
    kind, _, index = rest.partition(":")
    rows: list[Any] | None = {"tolerations": form.tolerations, "selector": form.selector}.get(kind)
    if rows is None or verb not in {"add", "remove"}:
        return False
    if verb == "add" and len(rows) < (MOST_TOLERATIONS if kind == "tolerations" else MOST_LABELS):
        rows.append(TolerationRow() if kind == "tolerations" else SelectorRow())
    elif verb == "remove" and index in {str(number) for number in range(len(rows))}:
        del rows[int(index)]
    return True


def _rows(data: Mapping[str, Any], kind: str, posted: Any, most: int) -> list[Any]:
    """Read the rows in order. More than are allowed are read too, so that the fault can be told, but not without end."""
    text = str(data.get(f"{kind}-rows", "0"))
    count = min(int(text), most + 8) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    return [posted(data, index) for index in range(count)]
