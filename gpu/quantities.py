"""Kubernetes quantities, read exactly and shown to people.

Numbers come from other people's nodes and quotas, so an unreadable one is an ordinary answer (``None``): the caller counts it
nowhere and shows it as written.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Final

INT64_MAX: Final = 2**63 - 1
# Kubernetes itself keeps 9 digits after and 19 before the point; a longer exponent would only make us build giant integers.
_LARGEST_EXPONENT: Final = 30
_LONGEST: Final = 64

_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
)
_DECIMAL_EXPONENT: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_EXPONENT: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_BINARY_STEPS: Final = (("EiB", 6), ("PiB", 5), ("TiB", 4), ("GiB", 3), ("MiB", 2), ("KiB", 1))
_DECIMAL_STEPS: Final = (("EB", 18), ("PB", 15), ("TB", 12), ("GB", 9), ("MB", 6), ("kB", 3))


def parse_units(value: str | int) -> int | None:
    """Read whole units of an extended resource ("8", "1k", "1e1"); ``None`` when unreadable, negative or fractional."""
    if isinstance(value, int):
        return value if 0 <= value <= INT64_MAX else None
    if value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    amount = _parse(value)
    if amount is None or not 0 <= amount <= INT64_MAX or amount != amount.to_integral_value():
        return None
    return int(amount)


def parse_bytes(value: str | int) -> Decimal | None:
    """Read an amount of memory in bytes; ``None`` when unreadable or negative. Milli-bytes are legal and do occur."""
    amount = Decimal(value) if isinstance(value, int) else _parse(value)
    return None if amount is None or amount < 0 else amount


def format_memory(value: str | int | None) -> str:
    """Show memory as people read it: "48 GiB", "1.5 GiB", "1 GB (0.93 GiB)"; as written with a "?" when unreadable.

    What was written in powers of ten (M, G, ..., exponents) stays so and gets the binary amount beside it, because 1 GB is not
    1 GiB. Small suffixes (m, k) are what Kubernetes writes by itself, not a person's choice, and read as binary.
    """
    if value is None:
        return ""
    amount = parse_bytes(value)
    if amount is None:
        return f"{value} ?"
    if isinstance(value, str) and _is_decimal_notation(value):
        for name, exponent in _DECIMAL_STEPS:
            step = Decimal(10) ** exponent
            if amount >= step:
                return f"{_rounded(amount / step, 1)} {name} ({_rounded(amount / 1024**3, 2)} GiB)"
    for name, power in _BINARY_STEPS:
        step = Decimal(1024) ** power
        if amount >= step:
            return f"{_rounded(amount / step, 1 if power >= 3 else 0)} {name}"
    return f"{_rounded(amount, 0)} B"


@lru_cache(maxsize=4096)
def _parse(value: str) -> Decimal | None:
    matched = _QUANTITY.fullmatch(value) if len(value) <= _LONGEST else None
    if matched is None:
        return None
    number, suffix = Decimal(matched["number"]), matched["suffix"] or ""
    if suffix in _BINARY_EXPONENT:
        return number * Decimal(1024) ** _BINARY_EXPONENT[suffix]
    exponent = _DECIMAL_EXPONENT.get(suffix) if suffix else 0
    if exponent is None:
        exponent = int(suffix[1:])
    return number.scaleb(exponent) if abs(exponent) <= _LARGEST_EXPONENT else None


def _is_decimal_notation(value: str) -> bool:
    matched = _QUANTITY.fullmatch(value)
    suffix = matched["suffix"] if matched else None
    return suffix is not None and (suffix in "MGTPE" or (suffix[0] in "eE" and len(suffix) > 1))


def _rounded(amount: Decimal, places: int) -> str:
    """Round for the eye. An exact whole number has no decimals, so "45.0" says that it was rounded."""
    if amount == amount.to_integral_value():
        return str(int(amount))
    return str(amount.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP))
