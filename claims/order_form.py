"""The order as a form: cleans what is typed, words each fault at its field, and gives the typed order."""

from __future__ import annotations

import re
import secrets
from typing import Any, Final

from django import forms

from catalog.names import label_fault
from claims.orders import OrderSpec
from gpu.resources import INT32_MAX

_ORDER_KEY: Final = re.compile(r"[0-9a-f]{32}\Z")
_NO_OFFER: Final = "There is no such offer."
_NO_SET: Final = "There is no such set."


def new_order_key() -> str:
    """Make the key of one order: one form, however often it is sent."""
    return secrets.token_hex(16)


def suggested_name(class_name: str, order_key: str) -> str:
    """Give the name that is already filled in."""
    return "" if label_fault(class_name) else f"{class_name[:58].rstrip('-')}-{order_key[:4]}"


class OrderForm(forms.Form):
    """What a person orders. ``suggested`` is the name that was filled in, to tell it from one that was typed."""

    class_name = forms.CharField(
        max_length=253,
        error_messages={"required": "Choose an offer.", "max_length": _NO_OFFER},
    )
    count = forms.CharField(max_length=400, error_messages={"required": "Say how many GPUs, such as 2."})
    name = forms.CharField(required=False, strip=True, max_length=1000)
    suggested = forms.CharField(required=False, max_length=63)
    set_name = forms.CharField(required=False, max_length=63, error_messages={"max_length": _NO_SET})
    new_set = forms.CharField(required=False, max_length=1000)
    order_key = forms.CharField(required=False, max_length=64)

    def clean_class_name(self) -> str:
        name: str = self.cleaned_data["class_name"]
        if label_fault(name):
            raise forms.ValidationError(_NO_OFFER)
        return name

    def clean_set_name(self) -> str:
        name: str = self.cleaned_data["set_name"]
        if name and label_fault(name):
            raise forms.ValidationError(_NO_SET)
        return name

    def clean_count(self) -> int:
        text = self.cleaned_data["count"].strip()
        if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
            raise forms.ValidationError("Write a whole number, such as 2.")
        if text.startswith("-") or not text.strip("+0"):
            raise forms.ValidationError("Order at least 1.")
        if int(text) > INT32_MAX:
            raise forms.ValidationError(f"An order cannot be larger than {INT32_MAX:,}.")
        return int(text)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name and (fault := label_fault(name)):
            raise forms.ValidationError(fault)
        return name

    def clean_new_set(self) -> str:
        name: str = self.cleaned_data["new_set"]
        if name and (fault := label_fault(name)):
            raise forms.ValidationError(fault)
        return name

    def clean_order_key(self) -> str:
        key: str = self.cleaned_data["order_key"]
        return key if _ORDER_KEY.match(key) else new_order_key()

    def spec(self, namespace: str) -> OrderSpec:
        """Give the order. Only for a valid form. A name that nobody typed follows the chosen offer."""
        cleaned: dict[str, Any] = self.cleaned_data
        typed = cleaned["name"] if cleaned["name"] != cleaned["suggested"] else ""
        return OrderSpec(
            namespace=namespace,
            class_name=cleaned["class_name"],
            count=cleaned["count"],
            name=typed or suggested_name(cleaned["class_name"], cleaned["order_key"]),
            set_name=cleaned["new_set"] or cleaned["set_name"] or None,
            order_key=cleaned["order_key"],
        )
