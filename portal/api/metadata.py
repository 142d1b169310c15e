"""The metadata of an object that is sent: what may be set, what the server fills in, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from portal.errors import FieldCause

_SETTABLE: Final = frozenset({"name", "namespace", "labels", "annotations"})
_FILLED_IN: Final = frozenset(
    {
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
    }
)
"""Ignored, as the API server does, so that what was read can be sent back."""


def metadata_faults(metadata: Mapping[str, Any]) -> list[FieldCause]:
    """Say what is wrong with it, names aside. Nothing that is sent is dropped in silence."""
    faults = [
        FieldCause(f"metadata.{name}", "cannot be set here")
        for name in sorted({*metadata} - _SETTABLE - _FILLED_IN)
        if metadata[name]
    ]
    faults += [
        FieldCause(f"metadata.{name}", "must be an object of texts")
        for name in ("labels", "annotations")
        if not _is_text_map(metadata.get(name))
    ]
    return faults


def _is_text_map(value: object) -> bool:
    """A null inside is a patch's way to remove a key."""
    if value is None:
        return True
    return isinstance(value, dict) and all(isinstance(text, str | None) for text in value.values())
