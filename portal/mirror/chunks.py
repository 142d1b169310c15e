"""Much work in pieces that no database chokes on and that nobody waits long for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 500


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Give the items in lists of at most AT_ONCE."""
    source = iter(items)
    while some := list(islice(source, AT_ONCE)):
        yield some
