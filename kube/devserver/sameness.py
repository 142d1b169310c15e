"""When two pieces of data are one: to Python 1 is True and 1.0 is 1, to the API server they are not."""

from __future__ import annotations

from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode


def is_same(one: Any, other: Any) -> bool:
    """Compare data of JSON by value and type; the order of keys does not count."""
    return bool(one == other) and _encode(one) == _encode(other)
