"""Contract: what the schema and the rules of the CRDs let pass, what they say otherwise, and what becomes of the rest."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from kube.kinds import GPU_CLAIMS, GPU_CLASSES
from tests.kube.orders import SKIPPED, a_claim, a_spec
from tests.kube.wire import Answer, Wire

Spec = dict[str, Any]

LABEL_RULE = "GPUClass name must be a DNS label, since it becomes part of a quota key"
RFC_1123 = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        (
            {"source": {"devicePlugin": {"resourceName": "gpu.cozystack.io/total"}}},
            "spec.source.devicePlugin.resourceName",
            'Invalid value: "gpu.cozystack.io/total": resourceName must not be in gpu.cozystack.io, whose keys are GPU budgets',
        ),
        (
            {"source": {}},
            "spec.source",
            "Invalid value: exactly one source must be set; devicePlugin is the only source supported, dra is reserved",
        ),
        (
            {"mode": "vgpu"},
            "spec",
            "Invalid value: profile is required for mode vgpu and not allowed for mode passthrough",
        ),
        (
            {"profile": "x"},
            "spec",
            "Invalid value: profile is required for mode vgpu and not allowed for mode passthrough",
        ),
        (
            {"maxCount": 0},
            "spec.maxCount",
            "Invalid value: 0: spec.maxCount in body should be greater than or equal to 1",
        ),
        (
            {"maxCount": 2**31},
            "<nil>",
            'Invalid value: "": Checked value must be of type integer with format int32 in spec.maxCount',
        ),
        (
            {"model": ""},
            "spec.model",
            'Invalid value: "": spec.model in body should be at least 1 chars long',
        ),
    ],
)
def test_a_broken_rule_or_bound_is_told_in_its_words(
    publish: Callable[..., Answer], changes: Spec, field: str, message: str
) -> None:
    answer = publish(a_spec(**changes))

    assert answer.code == 422
    assert answer.causes == [("FieldValueInvalid", field, message)]


def test_a_missing_field_is_required(publish: Callable[..., Answer]) -> None:
    spec = a_spec(vendor=None)
    del spec["model"]

    answer = publish(spec)

    required = [cause for cause in answer.causes if cause[0] == "FieldValueRequired"]
    assert sorted(required) == [
        ("FieldValueRequired", "spec.model", "Required value"),
        ("FieldValueRequired", "spec.vendor", "Required value"),
    ]
    assert SKIPPED in answer.causes


def test_a_name_that_is_no_label_is_told_twice_where_it_is_no_name_either(
    publish: Callable[..., Answer],
) -> None:
    dotted, capital = publish(a_spec(), name="a.b"), publish(a_spec(), name="Abc")

    assert dotted.causes == [("FieldValueInvalid", "<nil>", f"Invalid value: {LABEL_RULE}")]
    assert capital.causes == [
        ("FieldValueInvalid", "metadata.name", f'Invalid value: "Abc": {RFC_1123}'),
        ("FieldValueInvalid", "<nil>", f"Invalid value: {LABEL_RULE}"),
    ]


def test_the_name_total_is_reserved(publish: Callable[..., Answer]) -> None:
    answer = publish(a_spec(), name="total")

    assert answer.json["message"] == (
        'GPUClass.gpu.cozystack.io "total" is invalid: <nil>: Invalid value: '
        "GPUClass name total is reserved for the gpu.cozystack.io/total quota key"
    )


@pytest.mark.parametrize(
    ("memory", "code"), [("48Gi", 201), (51539607552, 201), ("1.5Ti", 201), ("48 Gi", 422), (True, 422)]
)
def test_memory_is_a_quantity_as_text_or_number(
    publish: Callable[..., Answer], memory: Any, code: int
) -> None:
    assert publish(a_spec(memory=memory)).code == code


def test_a_whole_float_is_an_integer(publish: Callable[..., Answer]) -> None:
    answer = publish(a_spec(maxCount=2.0))

    assert answer.code == 201
    assert b'"maxCount":2' in answer.body
    assert b'"maxCount":2.0' not in answer.body


def test_unknown_fields_are_pruned_with_a_warning(publish: Callable[..., Answer]) -> None:
    answer = publish(a_spec(tolerations=[{"key": "k", "operation": "Exists"}]))

    assert answer.json["spec"]["tolerations"] == [{"key": "k"}]
    assert answer.headers["warning"] == '299 - "unknown field \\"spec.tolerations[0].operation\\""'


def test_unknown_fields_are_refused_when_asked_to(publish: Callable[..., Answer]) -> None:
    answer = publish(a_spec(tolerations=[{"key": "k", "operation": "Exists"}]), fieldValidation="Strict")

    assert answer.code == 400
    assert answer.json["reason"] == "BadRequest"
    assert answer.json["message"] == (
        'GPUClass in version "v1alpha1" cannot be handled as a GPUClass: '
        'strict decoding error: unknown field "spec.tolerations[0].operation"'
    )


def test_mode_and_the_whole_spec_of_a_claim_cannot_change(wire: Wire, namespace: str, name: str) -> None:
    wire.create(GPU_CLASSES, {"metadata": {"name": name}, "spec": a_spec()})
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)

    mode = wire.patch(GPU_CLASSES, name, {"spec": {"mode": "vgpu", "profile": "L40S-24C"}})
    count = wire.patch(GPU_CLAIMS, "one", {"spec": {"count": 2}}, namespace=namespace)
    same = wire.patch(GPU_CLAIMS, "one", {"spec": {"count": 1}}, namespace=namespace)
    wire.delete(GPU_CLASSES, name)

    assert mode.causes == [
        (
            "FieldValueInvalid",
            "spec.mode",
            'Invalid value: "vgpu": mode is immutable; create a new GPUClass instead',
        )
    ]
    assert [cause[:2] for cause in count.causes] == [("FieldValueInvalid", "spec")]
    assert same.code == 200


def test_a_condition_type_cannot_occur_twice(wire: Wire, namespace: str) -> None:
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
    condition = {
        "type": "Bound",
        "status": "True",
        "reason": "Allocated",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }

    refused = wire.patch(
        GPU_CLAIMS,
        "one",
        {"status": {"conditions": [condition, copy.deepcopy(condition)]}},
        namespace=namespace,
        subresource="status",
    )

    assert refused.causes == [
        ("FieldValueDuplicate", "status.conditions[1]", 'Duplicate value: {"type":"Bound"}')
    ]
