"""Query parameters: only the known ones, each with its type. A misspelt filter is an error, never an unfiltered list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from django.http import HttpRequest

from portal.api.problems import BadParameter

PAGE: Final = frozenset({"limit", "continue"})
_WORDS: Final = {"true": True, "false": False}


def parameters(request: HttpRequest, *, allowed: Iterable[str] = ()) -> Mapping[str, str]:
    """Give the query parameters. Raises BadParameter for one that is unknown, repeated or holds a NUL character."""
    known = {*allowed}
    found: dict[str, str] = {}
    for name, values in request.GET.lists():
        if name not in known:
            raise BadParameter(name, f"is not known here; known are: {', '.join(sorted(known)) or 'none'}")
        if len(values) > 1:
            raise BadParameter(name, "may be given once")
        if "\0" in values[0]:
            raise BadParameter(name, "holds a NUL character")
        found[name] = str(values[0])
    return found


def is_true(found: Mapping[str, str], name: str) -> bool | None:
    """Read a boolean; None when it is not given. Raises BadParameter."""
    if name not in found:
        return None
    if found[name] not in _WORDS:
        raise BadParameter(name, "must be true or false")
    return _WORDS[found[name]]


def whole_number(found: Mapping[str, str], name: str) -> int | None:
    """Read a number of units; None when it is not given. Raises BadParameter."""
    if name not in found:
        return None
    text = found[name]
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise BadParameter(name, "must be a whole number")
    return int(text)


def is_dry_run(found: Mapping[str, str]) -> bool:
    """Read ``dryRun``, which Kubernetes spells ``All``. Raises BadParameter."""
    if found.get("dryRun", "All") != "All":
        raise BadParameter("dryRun", "must be All")
    return "dryRun" in found
