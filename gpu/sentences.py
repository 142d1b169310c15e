"""The one wording of a refusal, and its form on the wire.

A refusal travels from admission to the page as causes of a Kubernetes Status: the reason, the field it is about, and the
numbers as JSON in the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypedDict

import msgspec

from gpu.fit import Numbers, Reason, Refusal


class Cause(TypedDict):
    """One entry of ``status.details.causes``."""

    reason: str
    field: str
    message: str


def sentence(refusal: Refusal) -> str:
    """Word the refusal for a person, with its numbers."""
    return _WORDING[refusal.reason](refusal.numbers)


def refusals_to_causes(refusals: Iterable[Refusal]) -> list[Cause]:
    """Write refusals as causes; :func:`refusals_from_causes` reads them back."""
    return [
        {
            "reason": refusal.reason.value,
            "field": _FIELD.get(refusal.reason, "spec.count"),
            "message": msgspec.json.encode(refusal.numbers).decode(),
        }
        for refusal in refusals
    ]


def refusals_from_causes(causes: Iterable[tuple[str, str, str]]) -> tuple[Refusal, ...]:
    """Read refusals out of (reason, field, message) triples. Causes of other kinds are passed over.

    Unreadable numbers leave a refusal without numbers: the reason alone is still worth telling.
    """
    found = []
    for reason, _, message in causes:
        if reason not in _REASONS:
            continue
        try:
            numbers = msgspec.json.decode(message, type=Numbers)
        except (msgspec.DecodeError, msgspec.ValidationError):
            numbers = {}
        found.append(Refusal(Reason(reason), numbers))
    return tuple(found)


_REASONS: Final = frozenset(reason.value for reason in Reason)
_FIELD: Final = {
    Reason.CLASS_NOT_FOUND: "spec.className",
    Reason.NO_ELIGIBLE_NODE: "spec.className",
    Reason.CAPACITY_UNKNOWN: "spec.className",
    Reason.SET_NODE_FULL: "spec.setName",
}


def _asked(numbers: Numbers) -> str:
    return f"You ask for {numbers.get('asked', '?')}."


def _are_free(count: int | str) -> str:
    return "None is free" if count == 0 else "1 is free" if count == 1 else f"{count} are free"


def _no_capacity(numbers: Numbers) -> str:
    return f"{_asked(numbers)} {_are_free(numbers.get('free', '?'))}."


def _no_node_fits(numbers: Numbers) -> str:
    free, largest = numbers.get("free", "?"), numbers.get("maxFreePerNode", "?")
    return f"{_asked(numbers)} {_are_free(free)}, but no single node has more than {largest}."


def _count_above_max(numbers: Numbers) -> str:
    return f"{_asked(numbers)} One VM may take at most {numbers.get('max', '?')} of this offer."


def _set_node_full(numbers: Numbers) -> str:
    return f"{_asked(numbers)} The set's other GPUs are on a node where {_lower(_are_free(numbers.get('freeOnSetNode', '?')))}."


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _budget(numbers: Numbers, of_what: str, nothing: str) -> str:
    limit, used = numbers.get("limit", "?"), numbers.get("used", "?")
    source = f"({numbers.get('key', '?')} in {numbers.get('quota', '?')})"
    if limit == 0:
        return f"{_asked(numbers)} The budget allows {nothing} {source}."
    return f"{_asked(numbers)} The budget allows {limit} {of_what} and {used} {_is(used)} used {source}."


def _is(count: int | str) -> str:
    return "is" if count == 1 else "are"


def _capacity_unknown(numbers: Numbers) -> str:
    if "age" not in numbers:
        return "What is free is not known right now."
    return f"What is free is not known right now: the last figures are {_age(numbers['age'])} old."


def _age(seconds: int | str) -> str:
    """Write an age as people say it, from two minutes and two hours on in the larger unit."""
    if isinstance(seconds, str) or seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


_WORDING: Final[dict[Reason, Callable[[Numbers], str]]] = {
    Reason.CLASS_NOT_FOUND: lambda _: "This offer does not exist.",
    Reason.COUNT_ABOVE_MAX: _count_above_max,
    Reason.NO_ELIGIBLE_NODE: lambda _: "No node serves this offer at the moment.",
    Reason.NO_CAPACITY: _no_capacity,
    Reason.NO_NODE_FITS: _no_node_fits,
    Reason.SET_NODE_FULL: _set_node_full,
    Reason.CLASS_BUDGET_EXCEEDED: lambda numbers: _budget(numbers, "of this offer", "none of this offer"),
    Reason.TOTAL_BUDGET_EXCEEDED: lambda numbers: _budget(numbers, "GPUs in all", "no GPUs at all"),
    Reason.CAPACITY_UNKNOWN: _capacity_unknown,
}
