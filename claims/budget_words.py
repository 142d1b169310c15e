"""Budgets in words: no limit, nothing allowed and a limit are three different things."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from catalog.unit_bar import Part, UnitBar, draw
from claims.budget import BudgetLine


@dataclass(frozen=True, kw_only=True)
class BudgetWords:
    """One budget as shown."""

    key: str
    title: str
    is_total: bool
    bar: UnitBar | None
    used: str
    note: str
    source: str


def budget_words(lines: Iterable[BudgetLine], namespace: str) -> list[BudgetWords]:
    """Word each line."""
    return [_words(line, namespace) for line in lines]


def _words(line: BudgetLine, namespace: str) -> BudgetWords:
    return BudgetWords(
        key=line.key,
        title=line.title,
        is_total=line.class_name is None,
        bar=_bar(line),
        used=_used(line),
        note=_note(line),
        source=_source(line, namespace),
    )


def _used(line: BudgetLine) -> str:
    if line.limit is None:
        return f"{line.used} used · no limit set"
    if line.limit == 0:
        return f"0 allowed · {line.used} used" if line.used else "0 allowed"
    return f"{line.used} of {line.limit} used"


def _note(line: BudgetLine) -> str:
    parts = []
    if line.used != line.held_here:
        parts.append(f"{line.held_here} of it here")
    if line.releasing:
        parts.append(f"{line.releasing} being released")
    if line.limit is not None:
        over = line.used - line.limit
        parts.append(f"{over} above the limit" if over > 0 else f"{line.left} left")
    return " · ".join(parts)


def _source(line: BudgetLine, namespace: str) -> str:
    if line.limit is None:
        return ""
    whose = "this tenant" if line.pool in ("", namespace) else f"the pool of {line.pool}"
    return f"{line.key} in {line.quota}, {whose}"


def _bar(line: BudgetLine) -> UnitBar | None:
    if not line.limit:
        return None
    used = min(line.used, line.limit)
    here = min(line.held_here, used)
    return draw(
        (
            Part("yours", here, "used here"),
            Part("held", used - here, "used elsewhere in the pool"),
            Part("left", line.limit - used, "left"),
        )
    )
