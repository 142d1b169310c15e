"""What went wrong, counted by kind, each with the words that help to find it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

_KEPT: Final = 50


class Wrong(StrEnum):
    """The six counts that have to be zero."""

    OVERSOLD = "oversold"
    OVERRUN = "budget overrun"
    LOST = "lost"
    DUPLICATE = "duplicate"
    REFUSED = "refused although it fitted"
    LEAKED = "leaked units"


@dataclass
class Findings:
    counts: Counter[Wrong] = field(default_factory=Counter)
    words: list[str] = field(default_factory=list)

    def add(self, wrong: Wrong, words: str) -> None:
        self.counts[wrong] += 1
        if len(self.words) < _KEPT:
            self.words.append(f"{wrong}: {words}")

    @property
    def total(self) -> int:
        return self.counts.total()

    def __str__(self) -> str:
        return ", ".join(f"{wrong} {self.counts[wrong]}" for wrong in Wrong)
