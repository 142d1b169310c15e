"""Memory as people type it: what is wrong, and what was probably meant. What is typed is never rewritten."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Final

from gpu.quantities import parse_bytes
from gpu.resources import QUANTITY, matches

LEAST_BYTES: Final = 2**20
MOST_BYTES: Final = 16 * 2**40
_UNITS: Final = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"}
_TYPED: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmgt])(?:i?b?)", re.IGNORECASE)


def memory_fault(text: str) -> str:
    """Say what is wrong with the amount; "" when nothing is."""
    if not matches(QUANTITY, text):
        return f"Write a number and a unit without a space, such as 48Gi.{_did_you_mean(text)}"
    size = Decimal(-1) if text.startswith("-") else parse_bytes(text)
    if size is None:
        return "That number is too long. Write it as in 48Gi."
    if size <= 0:
        return "A GPU has more memory than that. Leave the field empty when it is not known."
    if size < LEAST_BYTES:
        return f"That is less than 1 MiB.{_did_you_mean(text)}"
    if size > MOST_BYTES:
        return "That is more than 16 TiB, and one unit has less."
    return ""


def suggest_memory(text: str) -> str:
    """Guess what was meant; "" when nothing sensible can be made of it."""
    plain = unicodedata.normalize("NFKC", text).replace("_", "").replace(",", ".")
    plain = "".join(plain.split())
    found = _TYPED.fullmatch(plain)
    if found:
        guess = found[1] + _UNITS[found[2].lower()]
    elif plain.isascii() and plain.isdigit() and Decimal(plain) < 1000:
        guess = f"{plain}Gi"
    else:
        guess = plain
    if guess == text or not matches(QUANTITY, guess):
        return ""
    size = parse_bytes(guess)
    return guess if size is not None and LEAST_BYTES <= size <= MOST_BYTES else ""


def _did_you_mean(text: str) -> str:
    suggestion = suggest_memory(text)
    return f" Did you mean {suggestion}?" if suggestion else ""
