"""What a process that draws a large picture once and keeps it for days does about memory.

Reading the lists leaves holes in the C library's heap that it does not give back by itself; and every full garbage collection
would walk through a picture in which nothing is garbage, which takes a good part of a second at 100,000 claims.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Final


def _trim_of_libc() -> Callable[[int], int] | None:
    """Find glibc's malloc_trim; other C libraries have none."""
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


_trim: Final = _trim_of_libc()


def settle_picture() -> None:
    """Call when the picture is complete: what is there now stays out of garbage collections."""
    gc.freeze()
    if _trim is not None:
        _trim(0)


def drop_picture() -> None:
    """Call when the picture was thrown away."""
    gc.unfreeze()
    gc.collect()
    if _trim is not None:
        _trim(0)
