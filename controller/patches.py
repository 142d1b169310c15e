"""The merge patch between what an object says and what it should say."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from gpu.resources import to_json


def difference(old: Struct, new: Struct) -> dict[str, Any]:
    """Give the top-level members that differ; None removes one. Empty: nothing to write."""
    before, after = to_json(old), to_json(new)
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return {**changed, **{key: None for key in before if key not in after}}
