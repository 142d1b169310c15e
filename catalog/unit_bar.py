"""Units as a picture: a cell each while they are few, in proportion when they are many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

MOST_CELLS: Final = 32
_WIDTH: Final = 286.0
_GAP: Final = 2.0
_WIDEST_CELL: Final = 22.0


class Part(NamedTuple):
    """Units of one sort. ``kind`` names the colour (unit-<kind> in capacity.css), ``word`` says what they are."""

    kind: str
    units: int
    word: str


@dataclass(frozen=True)
class Rect:
    x: float
    width: float
    kind: str


@dataclass(frozen=True)
class UnitBar:
    """The drawing, and the same in words for those who do not see it."""

    rects: tuple[Rect, ...]
    width: int
    words: str


def draw(parts: Iterable[Part]) -> UnitBar:
    """Draw the parts one after the other. Parts below one unit are left out."""
    shown = [part for part in parts if part.units > 0]
    words = ", ".join(f"{part.units} {part.word}" for part in shown) or "no units"
    total = sum(part.units for part in shown)
    if total > MOST_CELLS:
        return UnitBar(_proportional(shown, total), int(_WIDTH), words)
    if not total:
        return UnitBar((), 0, words)
    step = min(_WIDEST_CELL + _GAP, _WIDTH / total)
    kinds = [part.kind for part in shown for _ in range(part.units)]
    rects = tuple(
        Rect(round(index * step + 0.5, 2), round(step - _GAP - 1, 2), kind)
        for index, kind in enumerate(kinds)
    )
    return UnitBar(rects, round(total * step), words)


def _proportional(parts: list[Part], total: int) -> tuple[Rect, ...]:
    """Even one unit of thousands stays visible: each part gets 4 px, the rest is shared."""
    spare = _WIDTH - len(parts) * 4
    rects = []
    x = 0.5
    for part in parts:
        width = 4 + spare * part.units / total
        rects.append(Rect(round(x, 2), round(width - _GAP, 2), part.kind))
        x += width
    return tuple(rects)
