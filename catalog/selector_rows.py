"""The rows of node labels in the offer form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gpu.resources import TOLERATION_KEY, TOLERATION_VALUE, matches

MOST: Final = 64


@dataclass(kw_only=True)
class SelectorRow:
    """One label as typed. A key that is stored stays possible, whatever its shape: the schema does not check it."""

    key: str = ""
    value: str = ""
    faults: dict[str, str] = field(default_factory=dict)

    @classmethod
    def posted(cls, data: Mapping[str, str], index: int) -> SelectorRow:
        def typed(name: str) -> str:
            return (data.get(f"selector-{index}-{name}") or "").strip()

        return cls(key=typed("key"), value=typed("value"))

    @property
    def is_blank(self) -> bool:
        return not self.key and not self.value

    def check(self, *, stored: Mapping[str, str]) -> bool:
        """Find the faults; say whether there are none."""
        self.faults = {}
        if stored.get(self.key) == self.value and self.key in stored:
            return True
        if not self.key:
            self.faults["key"] = "Write the label's key."
        elif not matches(TOLERATION_KEY, self.key):
            self.faults["key"] = (
                "No label has a key like that, so no node would match. Write it as in gpu-pool."
            )
        if self.value and not (matches(TOLERATION_VALUE, self.value) and len(self.value) <= 63):
            self.faults["value"] = "No label has a value like that, so no node would match."
        return not self.faults


def mark_repeated(rows: Iterable[SelectorRow]) -> bool:
    """Mark keys that stand twice: a node has one value for each. Say whether there are none."""
    seen: set[str] = set()
    is_fine = True
    for row in rows:
        if row.key in seen:
            row.faults["key"] = "This key stands above already."
            is_fine = False
        seen.add(row.key)
    return is_fine
