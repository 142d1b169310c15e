"""What is wrong with the name of an object, in words."""

from __future__ import annotations

from typing import Final

from gpu.resources import DNS_LABEL, matches

MAX_NAME: Final = 63
_WORDS: Final = "must be lower-case letters, digits and dashes, and begin and end with a letter or digit"


def name_fault(value: object) -> str:
    """Say what is wrong, "" when nothing is."""
    if not isinstance(value, str):
        return "must be text"
    if not value:
        return "is required"
    if len(value) > MAX_NAME:
        return f"is too long: {len(value)} characters of at most {MAX_NAME}"
    return "" if matches(DNS_LABEL, value) else _WORDS
