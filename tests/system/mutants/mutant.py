"""A bug as a change of one place in a file's text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class DoesNotApply(Exception):
    """The product has no such text, or has it more than once."""


@dataclass(frozen=True)
class Mutant:
    """A bug: in the file, ``old`` becomes ``new``."""

    name: str
    path: str
    old: str
    new: str
    suite: tuple[str, ...]

    def apply(self, root: Path) -> str:
        """Give the file's text with the bug in it. Raises DoesNotApply."""
        text = (root / self.path).read_text()
        found = text.count(self.old)
        if found != 1:
            raise DoesNotApply(f"{self.name}: {self.path} has its text {found} times, not once:\n{self.old}")
        return text.replace(self.old, self.new)
