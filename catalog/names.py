"""Names that become DNS labels: what is wrong with one, in a plain sentence, and what it could be instead."""

from __future__ import annotations

import re
from typing import Final

from gpu.resources import DNS_LABEL, matches

MOST: Final = 63


def suggest_label(text: str) -> str:
    """Make a valid name of what was typed; "" when nothing of it can stay."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MOST].strip("-")


def label_fault(text: str) -> str:
    """Say what is wrong with the name and what would be right; "" when nothing is wrong."""
    if len(text) <= MOST and matches(DNS_LABEL, text):
        return ""
    suggestion = suggest_label(text)
    instead = f" Did you mean {suggestion}?" if suggestion else ""
    if len(text) > MOST:
        return f"Too long: {len(text)} of {MOST} characters.{instead}"
    if text != text.lower():
        return f"Use lower-case letters.{instead}"
    if text.startswith("-") or text.endswith("-"):
        return f"Begin and end with a letter or a digit.{instead}"
    return f"Use lower-case letters, digits and dashes only.{instead}"
