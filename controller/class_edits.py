"""What the hoster is told when an edit of an offer does not suit claims that hold its units."""

from __future__ import annotations

from typing import Final

from gpu.health import Harm

UNKNOWN_HARM: Final = "It is not known now how many holds this change hurts. None is given up by it."


def harm_sentence(harm: Harm) -> str:
    """Say how many holds an edit hurts and how. API servers cut a warning after 256 characters."""
    parts = []
    if harm.outgrown:
        parts.append(f"{_holds(harm.outgrown)} more units than one order may have now")
    if harm.astray:
        parts.append(f"{_sit(harm.astray)} on a node the offer does not choose any more")
    total = harm.outgrown + harm.astray
    noun = "hold" if total == 1 else "holds"
    return f"This change hurts {total} {noun}: {'; '.join(parts)}. None is given up; they are marked ClassChanged."


def _holds(count: int) -> str:
    return f"{count} has" if count == 1 else f"{count} have"


def _sit(count: int) -> str:
    return f"{count} sits" if count == 1 else f"{count} sit"
