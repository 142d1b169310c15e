"""Contract: tolerations and resource names as people write them, good and bad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.kube.orders import SKIPPED, a_spec
from tests.kube.wire import Answer

Spec = dict[str, Any]

VALUE_PATTERN = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
RESOURCE_PATTERN = (
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    r"/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)


GOOD_TOLERATIONS: list[Any] = [
    [{"operator": "Exists"}],
    [{"key": "drbd.linbit.com/lost-quorum", "effect": "NoSchedule"}],
    [{"key": "node-role.kubernetes.io/master", "operator": "Equal", "value": "", "effect": "NoSchedule"}],
    [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    [
        {
            "key": "node.kubernetes.io/not-ready",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": -1,
        }
    ],
    [{"key": f"{'a' * 253}/x", "operator": "Exists"}],
    None,
    [],
]


@pytest.mark.parametrize("tolerations", GOOD_TOLERATIONS)
def test_a_good_toleration_passes_and_is_kept_as_it_is(
    publish: Callable[..., Answer], tolerations: Any
) -> None:
    answer = publish(a_spec(tolerations=tolerations))

    assert answer.code == 201, answer.body
    assert answer.json["spec"].get("tolerations") == tolerations


@pytest.mark.parametrize(
    ("toleration", "field", "message"),
    [
        (
            {"key": "a", "operator": "Exists", "value": "x"},
            "",
            "a toleration with operator Exists takes no value",
        ),
        ({"operator": "Equal"}, "", "a toleration with an empty key needs operator Exists"),
        ({}, "", "a toleration with an empty key needs operator Exists"),
        (
            {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 0},
            "",
            "tolerationSeconds needs effect NoExecute",
        ),
        (
            {"key": f"{'a' * 254}/x", "operator": "Exists"},
            "",
            "toleration key prefix must be at most 253 characters",
        ),
    ],
)
def test_a_rule_about_a_toleration_is_told_at_its_place(
    publish: Callable[..., Answer], toleration: Spec, field: str, message: str
) -> None:
    answer = publish(a_spec(tolerations=[{"operator": "Exists"}, toleration]))

    assert answer.code == 422
    assert answer.causes == [
        ("FieldValueInvalid", f"spec.tolerations[1]{field}", f"Invalid value: {message}")
    ]


@pytest.mark.parametrize(
    ("toleration", "cause"),
    [
        (
            {"key": "workload", "effect": "NO_SCHEDULE"},
            (
                "FieldValueNotSupported",
                "spec.tolerations[0].effect",
                'Unsupported value: "NO_SCHEDULE": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            ),
        ),
        (
            {"key": "a", "operator": "Gt", "value": "950"},
            (
                "FieldValueNotSupported",
                "spec.tolerations[0].operator",
                'Unsupported value: "Gt": supported values: "Exists", "Equal"',
            ),
        ),
        (
            {"key": "a", "effect": ""},
            (
                "FieldValueNotSupported",
                "spec.tolerations[0].effect",
                'Unsupported value: "": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            ),
        ),
        (
            {"key": "a", "value": True},
            (
                "FieldValueTypeInvalid",
                "spec.tolerations[0].value",
                'Invalid value: "boolean": spec.tolerations[0].value in body must be of type string: "boolean"',
            ),
        ),
        (
            {"key": "a" * 318},
            ("FieldValueTooLong", "spec.tolerations[0].key", "Too long: may not be more than 317 bytes"),
        ),
    ],
)
def test_a_fault_of_shape_is_told_and_the_rules_are_skipped(
    publish: Callable[..., Answer], toleration: Spec, cause: tuple[str, str, str]
) -> None:
    answer = publish(a_spec(tolerations=[toleration]))

    assert answer.code == 422
    assert SKIPPED in answer.causes
    assert cause in answer.causes


def test_a_pattern_that_is_not_met_does_not_skip_the_rules(publish: Callable[..., Answer]) -> None:
    answer = publish(a_spec(tolerations=[{"key": "a", "operator": "Exists", "value": '"true"'}]))

    assert answer.causes == [
        (
            "FieldValueInvalid",
            "spec.tolerations[0].value",
            f'Invalid value: "\\"true\\"": spec.tolerations[0].value in body should match \'{VALUE_PATTERN}\'',
        ),
        (
            "FieldValueInvalid",
            "spec.tolerations[0]",
            "Invalid value: a toleration with operator Exists takes no value",
        ),
    ]


@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/GH100_H200_SXM_141GB", "nvidia.com/mig-1g.10gb", "nvidia.com/2571", "iluvatar.ai/MR-V50.vMem",
        "devices.kubevirt.io/kvm", "amd.com/gpu", "nvidia.com/GB202GL_RTX_PRO_6000_BLACKWELL_SERVER_EDITION",
    ],
)  # fmt: skip
def test_real_resource_names_pass(publish: Callable[..., Answer], resource: str) -> None:
    assert publish(a_spec(source={"devicePlugin": {"resourceName": resource}})).code == 201


@pytest.mark.parametrize(
    "resource",
    [
        "gpu", "nsm.ligato.io", "NVIDIA.com/gpu", "nvidia.com/gpu ", "nvidia.com/", "nvidia.com//gpu", "nvidia.com/gpu/0",
        "NVIDIA A40-12Q", "nvidia.com/NVIDIA A40-12Q", "nvidia.com/gpu\n",
        "amd.com/STRIX_HALO_RADEON_GRAPHICS___RADEON_8050S_GRAPHICS___RADEON_8060S_GRAPHICS",
    ],
)  # fmt: skip
def test_a_malformed_resource_name_is_told_with_its_pattern(
    publish: Callable[..., Answer], resource: str
) -> None:
    answer = publish(a_spec(source={"devicePlugin": {"resourceName": resource}}))

    assert answer.code == 422
    ((reason, field, message),) = answer.causes
    assert (reason, field) == ("FieldValueInvalid", "spec.source.devicePlugin.resourceName")
    assert message.endswith(
        f"spec.source.devicePlugin.resourceName in body should match '{RESOURCE_PATTERN}'"
    )


def test_too_many_tolerations_are_counted(publish: Callable[..., Answer]) -> None:
    answer = publish(a_spec(tolerations=[{"operator": "Exists"}] * 33))

    assert (
        "FieldValueTooMany",
        "spec.tolerations",
        "Too many: 33: must have at most 32 items",
    ) in answer.causes
