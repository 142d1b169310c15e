from __future__ import annotations

from tests.fixtures.rest import mirrored, rest

__all__ = ["mirrored", "rest"]
