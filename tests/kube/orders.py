"""The bodies that the contract suite sends."""

from __future__ import annotations

from typing import Any


def a_claim(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"className": "l40s", **spec}}


def a_spec(**changes: Any) -> dict[str, Any]:
    """Give the spec of a valid passthrough class."""
    spec: dict[str, Any] = {
        "vendor": "NVIDIA",
        "model": "L40S",
        "mode": "passthrough",
        "source": {"devicePlugin": {"resourceName": "nvidia.com/AD102GL_L40S"}},
    }
    return spec | changes


SKIPPED = (
    "FieldValueInvalid",
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
"""The cause that says that rules were not looked at any more."""
