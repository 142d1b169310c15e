from __future__ import annotations

from typing import Any

import pytest

from catalog.edits import spec_patch

STORED: dict[str, Any] = {
    "vendor": "nvidia",
    "model": "L40S",
    "mode": "passthrough",
    "source": {"devicePlugin": {"resourceName": "nvidia.com/AD102GL_L40S"}},
    "memory": "46068Mi",
    "maxCount": 4,
    "nodeSelector": {"pool": "gpu", "zone": "a"},
    "tolerations": [
        {"operator": "Exists"},
        {"key": "dedicated", "value": "gpu"},
        {"key": "lost", "operator": "Equal", "value": "", "effect": "NoExecute", "tolerationSeconds": 0},
    ],
    "onCordon": "Move",
}


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({}, {}),
        (STORED, {}),
        ({"displayName": "L40S 48G"}, {"displayName": "L40S 48G"}),
        ({"maxCount": None}, {"maxCount": None}),
        ({"memory": None, "profile": None}, {"memory": None}),
        ({"memory": "48Gi"}, {"memory": "48Gi"}),
        ({"tolerations": []}, {"tolerations": None}),
        ({"nodeSelector": {}}, {"nodeSelector": None}),
        ({"nodeSelector": {"pool": "gpu"}}, {"nodeSelector": {"zone": None}}),
        (
            {"nodeSelector": {"pools": "gpu", "zone": "b"}},
            {"nodeSelector": {"pool": None, "pools": "gpu", "zone": "b"}},
        ),
        (
            {"source": {"devicePlugin": {"resourceName": "nvidia.com/gpu"}}},
            {"source": {"devicePlugin": {"resourceName": "nvidia.com/gpu"}}},
        ),
    ],
)
def test_a_patch_holds_what_differs_and_nothing_else(fields: dict[str, Any], want: dict[str, Any]) -> None:
    assert spec_patch(STORED, fields) == want


def test_tolerations_that_mean_the_same_are_left_as_they_are_spelled() -> None:
    spelled_out = [
        {"operator": "Exists"},
        {"key": "dedicated", "operator": "Equal", "value": "gpu"},
        {"key": "lost", "effect": "NoExecute", "tolerationSeconds": 0},
    ]

    assert spec_patch(STORED, {"tolerations": spelled_out}) == {}


def test_a_changed_list_is_sent_whole_with_the_other_rows_as_stored() -> None:
    wanted = [{"key": "dedicated", "operator": "Equal", "value": "gpu"}, {"key": "new", "operator": "Exists"}]

    assert spec_patch(STORED, {"tolerations": wanted}) == {
        "tolerations": [{"key": "dedicated", "value": "gpu"}, {"key": "new", "operator": "Exists"}]
    }


def test_the_order_of_tolerations_is_the_editors() -> None:
    turned = list(reversed(STORED["tolerations"]))

    assert spec_patch(STORED, {"tolerations": turned}) == {"tolerations": turned}


@pytest.mark.parametrize("wanted", [None, []])
def test_what_is_stored_empty_stays_so_when_another_field_is_edited(wanted: object) -> None:
    stored = {"model": "L40S", "tolerations": [], "nodeSelector": {}, "displayName": ""}
    untouched = {"tolerations": wanted, "nodeSelector": None, "displayName": None}

    assert spec_patch(stored, {"model": "L40", **untouched}) == {"model": "L40"}
    assert spec_patch(stored, {**untouched, "tolerations": [{"operator": "Exists"}]}) == {
        "tolerations": [{"operator": "Exists"}]
    }


def test_a_memory_stored_as_a_number_is_not_rewritten_as_text() -> None:
    assert spec_patch({"memory": 51539607552}, {"memory": "51539607552"}) == {}
