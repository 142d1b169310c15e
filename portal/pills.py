"""What a state looks like. It never speaks by colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal["ok", "low", "out", "use", "unknown"]


@dataclass(frozen=True)
class Pill:
    """A word, its icon (lucide's name) and its tone."""

    word: str
    icon: str
    tone: Tone
