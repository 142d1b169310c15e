from __future__ import annotations

from typing import Any

import pytest

from catalog.edits import spec_patch
from catalog.offer_form import OfferForm, act_on_rows
from gpu.resources import Effect, GPUClass, Operator, Toleration, to_json
from tests.builders import a_class

GOOD = {
    "name": "l40s",
    "display_name": "L40S",
    "vendor": "nvidia",
    "model": "L40S",
    "mode": "passthrough",
    "profile": "",
    "memory": "48Gi",
    "max_count": "",
    "on_cordon": "Move",
    "resource_name": "nvidia.com/AD102GL_L40S",
}


def posted(form: OfferForm) -> dict[str, Any]:
    """What a browser sends for the form as it is shown."""
    data = {name: form[name].value() for name in form.fields}
    data |= {"tolerations-rows": str(len(form.tolerations)), "selector-rows": str(len(form.selector))}
    for index, row in enumerate(form.tolerations):
        for name in ("key", "operator", "value", "effect", "seconds"):
            data[f"tolerations-{index}-{name}"] = getattr(row, name)
    for index, label in enumerate(form.selector):
        data |= {f"selector-{index}-key": label.key, f"selector-{index}-value": label.value}
    return data


def rows(*tolerations: dict[str, str]) -> dict[str, str]:
    data = {**GOOD, "tolerations-rows": str(len(tolerations))}
    for index, toleration in enumerate(tolerations):
        data |= {f"tolerations-{index}-{name}": value for name, value in toleration.items()}
    return data


def labels(*pairs: tuple[str, str]) -> dict[str, str]:
    data = {**GOOD, "selector-rows": str(len(pairs))}
    for index, (key, value) in enumerate(pairs):
        data |= {f"selector-{index}-key": key, f"selector-{index}-value": value}
    return data


def patch_of(stored: GPUClass, form: OfferForm) -> dict[str, Any]:
    """What would be sent to the cluster."""
    assert form.is_valid(), form.errors
    as_stored = {"onCordon": "Move", **to_json(stored)["spec"]}  # the API server fills in defaults
    return spec_patch(as_stored, form.spec())


ROUND_TRIPS: list[list[Toleration] | None] = [
    None,
    [Toleration(operator=Operator.EXISTS)],
    [Toleration(key="drbd.linbit.com/lost-quorum", effect=Effect.NO_SCHEDULE)],
    [Toleration(key="a", operator=Operator.EQUAL, value="", effect=Effect.NO_SCHEDULE)],
    [
        Toleration(
            key="node.cloudprovider.kubernetes.io/uninitialized", value="true", effect=Effect.NO_SCHEDULE
        )
    ],
    [Toleration(key="nvidia.com/gpu", operator=Operator.EXISTS), Toleration(key="etcd", value="true")],
    [
        Toleration(
            key="node.kubernetes.io/not-ready",
            operator=Operator.EXISTS,
            effect=Effect.NO_EXECUTE,
            toleration_seconds=seconds,
        )
        for seconds in (900, 0, -1, None)
    ],
    [Toleration(key="pref", operator=Operator.EXISTS, effect=Effect.PREFER_NO_SCHEDULE)],
]


@pytest.mark.parametrize("tolerations", ROUND_TRIPS)
def test_tolerations_survive_an_edit_of_another_field_byte_for_byte(
    tolerations: list[Toleration] | None,
) -> None:
    stored = a_class(tolerations=tolerations, selector={"gpu-pool": "l40s", "empty": ""})
    sent = posted(OfferForm.of(stored)) | {"display_name": "Another name"}

    assert patch_of(stored, OfferForm(sent, stored=stored)) == {"displayName": "Another name"}


@pytest.mark.parametrize("memory", ["48Gi", "46068Mi", "129e6", 51539607552, "100m", None])
def test_memory_keeps_its_spelling(memory: str | int | None) -> None:
    stored = a_class(memory=memory)
    sent = posted(OfferForm.of(stored)) | {"model": "L40"}

    assert patch_of(stored, OfferForm(sent, stored=stored)) == {"model": "L40"}


def test_tolerate_everything_is_saved_as_exists_alone() -> None:
    form = OfferForm(rows({"operator": "Exists"}))

    assert form.is_valid(), form.errors
    assert form.spec()["tolerations"] == [{"operator": "Exists"}]
    assert "every taint" in form.tolerations[0].note


def test_a_blank_row_is_no_toleration() -> None:
    form = OfferForm(rows({"operator": "Equal"}, {"key": "a", "operator": "Exists"}))

    assert form.is_valid()
    assert form.spec()["tolerations"] == [{"key": "a", "operator": "Exists"}]


def test_emptying_everything_removes_it_from_the_cluster() -> None:
    stored = a_class(
        tolerations=[Toleration(operator=Operator.EXISTS)], selector={"pool": "gpu"}, max_count=4
    )
    sent = posted(OfferForm.of(stored))
    sent |= {"tolerations-rows": "0", "selector-rows": "0", "max_count": "", "memory": "", "display_name": ""}

    assert patch_of(stored, OfferForm(sent, stored=stored)) == {
        "tolerations": None,
        "nodeSelector": None,
        "maxCount": None,
        "memory": None,
    }


def test_a_renamed_label_leaves_only_the_new_key() -> None:
    stored = a_class(selector={"pool": "gpu"})
    sent = posted(OfferForm.of(stored)) | {"selector-0-key": "zone"}

    assert patch_of(stored, OfferForm(sent, stored=stored)) == {"nodeSelector": {"pool": None, "zone": "gpu"}}


@pytest.mark.parametrize(
    ("row", "field", "word"),
    [
        ({"key": "a", "operator": "Exists", "value": "b"}, "value", "takes no value"),
        (
            {"key": "a", "value": "b", "effect": "NoSchedule", "seconds": "0"},
            "seconds",
            "only for the effect NoExecute",
        ),
        ({"key": "a", "seconds": "5"}, "seconds", "only for the effect NoExecute"),
        ({"key": "a", "effect": "NoExecute", "seconds": "soon"}, "seconds", "whole seconds"),
        ({"key": "a", "effect": "NoExecute", "seconds": str(2**63)}, "seconds", "more seconds"),
        ({"key": "a", "effect": "NO_SCHEDULE"}, "effect", "Did you mean NoSchedule?"),
        ({"key": "a", "operator": "Gt", "value": "9"}, "operator", "Equal or Exists"),
        ({"key": "a", "value": '"true"'}, "value", "Quotes are not part"),
        ({"key": "a", "value": "x" * 64}, "value", "64 of 63"),
        ({"value": "b"}, "key", "Write a key"),
        ({"effect": "NoSchedule"}, "key", "Write a key"),
        ({"key": "sku=gpu:NoSchedule"}, "key", "Did you mean key sku, value gpu, effect NoSchedule?"),
        ({"key": "spot:NoSchedule"}, "key", "Did you mean key spot, effect NoSchedule?"),
        ({"key": "key1=value1:NoSchedule-"}, "key", "remove this taint"),
        ({"key": "NVIDIA.com/gpu"}, "key", "lower case: nvidia.com"),
        ({"key": "my key"}, "key", "no spaces"),
        ({"key": "p" * 254 + "/a"}, "key", "254 of 253"),
        ({"key": "k" * 64}, "key", "64 of 63"),
    ],
)
def test_a_fault_in_a_row_stands_at_its_field(row: dict[str, str], field: str, word: str) -> None:
    form = OfferForm(rows({"operator": "Equal"}, {"operator": "Equal", **row}))

    assert not form.is_valid()
    assert word in form.tolerations[1].faults[field]
    assert form.tolerations[0].faults == {}


@pytest.mark.parametrize("count", [32, 33])
def test_at_most_32_tolerations_are_taken(count: int) -> None:
    form = OfferForm(rows(*({"key": f"k{index}", "operator": "Exists"} for index in range(count))))

    assert form.is_valid() is (count == 32)
    assert len(form.tolerations) == count


def test_a_label_cannot_stand_twice_and_needs_a_key() -> None:
    form = OfferForm(labels(("pool", "a"), ("pool", "b"), ("", "c"), ("bad key", "")))

    assert not form.is_valid()
    assert [sorted(row.faults) for row in form.selector] == [[], ["key"], ["key"], ["key"]]


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("name", "L40S", "l40s"),
        ("name", "total", "budget of all offers"),
        ("name", "a" * 64, "64 of 63"),
        ("vendor", "", "Fill this in"),
        ("vendor", "v" * 64, "64 of 63"),
        ("display_name", "d" * 257, "257 of 256"),
        ("mode", "dra", "passthrough or vGPU"),
        ("profile", "L40S-24C", "Only a vGPU offer"),
        ("memory", "48GB", "48Gi"),
        ("max_count", "0", "from 1 up"),
        ("max_count", "2147483648", "from 1 up"),
        ("max_count", "two", "from 1 up"),
        ("max_count", "９", "from 1 up"),
        ("max_count", "0000000001" + "0" * 20, "from 1 up"),
        ("on_cordon", "Stop", "Move or Stay"),
        ("resource_name", "gpu", "vendor's part"),
    ],
)
def test_a_fault_stands_at_its_field(field: str, value: str, word: str) -> None:
    form = OfferForm(GOOD | {field: value})

    assert not form.is_valid()
    assert word in form.errors[field][0]


def test_a_vgpu_offer_names_its_profile() -> None:
    form = OfferForm(GOOD | {"mode": "vgpu"})

    assert not form.is_valid()
    assert "profile" in form.errors


def test_an_offer_that_is_right_gives_the_spec_of_the_api() -> None:
    form = OfferForm(GOOD | {"max_count": "4"})

    assert form.is_valid(), form.errors
    spec = {name: value for name, value in form.spec().items() if value is not None}
    assert spec == {
        "displayName": "L40S",
        "vendor": "nvidia",
        "model": "L40S",
        "mode": "passthrough",
        "memory": "48Gi",
        "maxCount": 4,
        "onCordon": "Move",
        "source": {"devicePlugin": {"resourceName": "nvidia.com/AD102GL_L40S"}},
    }


def test_the_mode_of_a_stored_offer_stays_whatever_is_posted() -> None:
    stored = a_class()
    sent = posted(OfferForm.of(stored)) | {"mode": "vgpu", "name": "other"}
    form = OfferForm(sent, stored=stored)

    assert form.is_valid(), form.errors
    assert "mode" not in form.spec()
    assert form.cleaned_data["name"] == "l40s"


def test_what_the_api_server_finds_goes_to_its_field() -> None:
    form = OfferForm(rows({"operator": "Equal"}, {"key": "a", "operator": "Exists"}))
    assert form.is_valid()

    form.add_causes(
        {
            "spec.tolerations[0].value": "no value",
            "spec.memory": "not a quantity",
            "metadata.name": "taken",
            "spec.unheard": "of",
            "": "whole",
        }
    )

    assert form.tolerations[1].faults == {"value": "no value"}
    assert form.errors["memory"] == ["not a quantity"]
    assert form.errors["name"] == ["taken"]
    assert form.non_field_errors() == ["spec.unheard: of", "whole"]


def test_buttons_add_and_remove_rows_and_keep_what_is_typed() -> None:
    form = OfferForm(rows({"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Equal"}))

    assert act_on_rows(form, "add:tolerations")
    assert act_on_rows(form, f"remove:tolerations:{'9' * 5000}")
    assert act_on_rows(form, "remove:tolerations:0")
    assert act_on_rows(form, "add:selector")
    assert not act_on_rows(form, "")
    assert not act_on_rows(form, "add:holes")

    assert [row.key for row in form.tolerations] == ["b", ""]
    assert len(form.selector) == 1


@pytest.mark.parametrize("count", ["", "-1", "1e9", "99999999", "x"])
def test_a_forged_number_of_rows_reads_no_more_than_are_sensible(count: str) -> None:
    assert len(OfferForm(GOOD | {"tolerations-rows": count}).tolerations) <= 40
