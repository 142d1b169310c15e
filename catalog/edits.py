"""Turning an edited form into the smallest change of an offer: a merge patch of what really differs.

A removed field and a removed map key are sent as null, a list is replaced whole. Values that mean the same keep the spelling in
which they are stored: an edit of one field must not rewrite another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_EMPTY: Final[tuple[Any, ...]] = ({}, [], "", None)


def spec_patch(stored: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Give the merge patch of ``spec`` that makes these fields so; empty when nothing differs.

    Only the named fields are touched; None, and an empty list or map, removes the field. One that is stored empty already means the
    same as a missing one: it stays as it is until something is put into it.
    """
    patch: dict[str, Any] = {}
    for name, wanted in fields.items():
        present = name in stored
        if wanted in _EMPTY:
            if present and stored[name] not in _EMPTY:
                patch[name] = None
        elif not present:
            patch[name] = wanted
        elif (change := _change(name, stored[name], wanted)) is not _SAME:
            patch[name] = change
    return patch


class _Same:
    """Nothing to send."""


_SAME: Final = _Same()


def _change(name: str, stored: Any, wanted: Any) -> Any:
    if stored == wanted and type(stored) is type(wanted):
        return _SAME
    if name == "memory" and str(stored) == str(wanted).strip():
        return _SAME
    if name == "tolerations" and isinstance(stored, list) and isinstance(wanted, list):
        kept = keep_spelling(stored, wanted)
        return _SAME if kept == stored else kept
    if isinstance(stored, dict) and isinstance(wanted, dict):
        inner = map_patch(stored, wanted)
        return inner or _SAME
    return wanted


def map_patch(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Give the merge patch that makes the map so; empty when nothing differs."""
    patch: dict[str, Any] = {key: None for key in stored if key not in wanted}
    for key, value in wanted.items():
        if key not in stored:
            patch[key] = value
        elif isinstance(stored[key], dict) and isinstance(value, dict):
            if inner := map_patch(stored[key], value):
                patch[key] = inner
        elif stored[key] != value:
            patch[key] = value
    return patch


def keep_spelling(stored: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the wanted tolerations, each spelled as a stored one that means the same, where there is one."""
    left = list(stored)
    kept = []
    for toleration in wanted:
        match = next((old for old in left if _meaning(old) == _meaning(toleration)), None)
        if match is not None:
            left.remove(match)
        kept.append(toleration if match is None else match)
    return kept


def _meaning(toleration: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a toleration says: absent operator is Equal, absent value and key are empty, absent effect is every effect."""
    return (
        toleration.get("key") or "",
        toleration.get("operator") or "Equal",
        toleration.get("value") or "",
        toleration.get("effect") or "",
        toleration.get("tolerationSeconds"),
    )
