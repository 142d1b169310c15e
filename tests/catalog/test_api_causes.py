from __future__ import annotations

import pytest

from portal.field_words import field_words, unknown_fields


@pytest.mark.parametrize(
    ("field", "message", "want"),
    [
        (
            "spec.count",
            "Invalid value: 0: spec.count in body should be greater than or equal to 1",
            ("spec.count", "must be at least 1"),
        ),
        (
            "spec.count",
            'Invalid value: "string": spec.count in body must be of type integer: "string"',
            ("spec.count", "must be a whole number"),
        ),
        (
            "<nil>",
            'Invalid value: "": Checked value must be of type integer with format int32 in spec.count',
            ("spec.count", "must be a whole number, at most 2147483647"),
        ),
        (
            "<nil>",
            "Invalid value: GPUClass name total is reserved for the gpu.cozystack.io/total quota key",
            ("metadata.name", "GPUClass name total is reserved for the gpu.cozystack.io/total quota key"),
        ),
        (
            "spec.tolerations[0]",
            'Invalid value: "object": a toleration with operator Exists takes no value',
            ("spec.tolerations[0]", "a toleration with operator Exists takes no value"),
        ),
        (
            "spec.memory",
            "Invalid value: \"48GB\": spec.memory in body should match '^(\\+|-)?x$'",
            ("spec.memory", "must be an amount such as 48Gi, without spaces"),
        ),
        (
            "spec.memory",
            'Invalid value: "a\\": b": spec.memory in body should match \'^x: y$\'',
            ("spec.memory", "must be an amount such as 48Gi, without spaces"),
        ),
        ("spec.vendor", "Required value", ("spec.vendor", "is required")),
        (
            "spec.tolerations[1].effect",
            'Unsupported value: "NO_SCHEDULE": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            ("spec.tolerations[1].effect", "must be one of NoSchedule, PreferNoSchedule, NoExecute"),
        ),
        (
            "spec.model",
            "Too long: may not be more than 63 bytes",
            ("spec.model", "is too long: at most 63 characters"),
        ),
        (
            "spec.source",
            "Invalid value: exactly one source must be set; devicePlugin is the only one",
            ("spec.source", "exactly one source must be set; devicePlugin is the only one"),
        ),
    ],
)
def test_a_cause_is_put_at_its_field_in_words(field: str, message: str, want: tuple[str, str]) -> None:
    assert field_words([(field, message)]) == (want,)


def test_what_was_not_checked_is_no_cause() -> None:
    unchecked = "Invalid value: null: some validation rules were not checked because the object was invalid"

    assert field_words([("<nil>", unchecked), ("spec.mode", "Required value")]) == (
        ("spec.mode", "is required"),
    )


def test_unknown_fields_are_named() -> None:
    message = (
        'strict decoding error: unknown field "spec.tolerations[0].operation", duplicate field "spec.mode"'
    )

    assert unknown_fields(message) == (
        ("spec.tolerations[0].operation", "is not a known field"),
        ("spec.mode", "is given twice"),
    )
