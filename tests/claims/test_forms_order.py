from __future__ import annotations

import re

import pytest

from claims.order_form import OrderForm, new_order_key, suggested_name

KEY = "0123456789abcdef0123456789abcdef"
GOOD = {"class_name": "l40s", "count": "2", "name": "train", "suggested": "l40s-0123", "order_key": KEY}


def test_a_good_order_becomes_a_typed_spec() -> None:
    form = OrderForm(GOOD | {"set_name": "sim"})

    assert form.is_valid(), form.errors
    spec = form.spec("tenant-acme")
    assert (spec.namespace, spec.class_name, spec.count, spec.name) == ("tenant-acme", "l40s", 2, "train")
    assert (spec.set_name, spec.order_key) == ("sim", KEY)


@pytest.mark.parametrize(
    ("count", "word"),
    [
        ("", "how many"),
        ("0", "at least 1"),
        ("-1", "at least 1"),
        ("two", "whole number"),
        ("1e308", "whole number"),
        ("2.5", "whole number"),
        ("２", "whole number"),
        ("2147483648", "2,147,483,647"),
        ("9" * 400, "2,147,483,647"),
        ("9" * 401, "Ensure"),
    ],
)
def test_a_count_that_cannot_be_is_worded_at_the_field(count: str, word: str) -> None:
    form = OrderForm(GOOD | {"count": count})

    assert not form.is_valid()
    assert word in form.errors["count"][0]


def test_a_count_may_begin_with_zeros() -> None:
    form = OrderForm(GOOD | {"count": "+00000000002"})

    assert form.is_valid()
    assert form.spec("tenant-acme").count == 2


@pytest.mark.parametrize(
    ("name", "word"), [("Train", "train"), ("a" * 64, "64 of 63"), ("train.1", "train-1"), ("-", "Begin")]
)
def test_a_name_that_cannot_be_is_worded_at_the_field(name: str, word: str) -> None:
    form = OrderForm(GOOD | {"name": name})

    assert not form.is_valid()
    assert word in form.errors["name"][0]


@pytest.mark.parametrize("field", ["class_name", "set_name"])
@pytest.mark.parametrize("value", ["$(id)", "L40S", "a.b", "a" * 64, "-"])
def test_what_names_no_offer_or_set_is_worded_at_the_field(field: str, value: str) -> None:
    form = OrderForm(GOOD | {field: value})

    assert not form.is_valid()
    assert "There is no such" in form.errors[field][0]


@pytest.mark.parametrize("name", ["", "l40s-0123"])
def test_a_name_that_nobody_typed_follows_the_offer(name: str) -> None:
    form = OrderForm(GOOD | {"name": name, "class_name": "h100"})

    assert form.is_valid()
    assert form.spec("tenant-acme").name == "h100-0123"


def test_a_new_set_wins_over_a_chosen_one() -> None:
    form = OrderForm(GOOD | {"set_name": "old", "new_set": "new"})

    assert form.is_valid()
    assert form.spec("tenant-acme").set_name == "new"


@pytest.mark.parametrize("key", ["", "forged", "../../x", KEY.upper(), KEY + "0"])
def test_a_forged_key_is_replaced_by_one_of_ours(key: str) -> None:
    form = OrderForm(GOOD | {"order_key": key})

    assert form.is_valid()
    assert re.fullmatch("[0-9a-f]{32}", form.cleaned_data["order_key"])
    assert form.cleaned_data["order_key"] != key


@pytest.mark.parametrize("class_name", ["l40s", "a" * 63, "a" * 57 + "-bcde"])
def test_the_suggested_name_is_always_a_right_one(class_name: str) -> None:
    name = suggested_name(class_name, new_order_key())

    assert OrderForm(GOOD | {"name": name}).is_valid()


def test_no_name_is_suggested_for_what_names_no_offer() -> None:
    assert suggested_name("$(id)", KEY) == ""
