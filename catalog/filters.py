"""What the catalog is narrowed to. The address holds it, so that it can be sent to somebody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.http import QueryDict

from catalog.cards import CHIPS, Card, vendor_word
from gpu.resources import Mode
from portal.models import ClassRecord

_GIB: Final = 2**30
MEMORY_STEPS: Final = (16, 24, 40, 80, 128, 192)


@dataclass(frozen=True)
class Choice:
    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, kw_only=True)
class CatalogFilter:
    """The filter as typed. What cannot be read narrows nothing."""

    words: str = ""
    vendor: str = ""
    model: str = ""
    memory: int = 0
    mode: str = ""
    fits: int = 0

    @classmethod
    def of(cls, query: QueryDict) -> CatalogFilter:
        return cls(
            words=query.get("q", "").strip()[:100],
            vendor=query.get("vendor", ""),
            model=query.get("model", ""),
            memory=_whole(query.get("memory", "")),
            mode=query.get("mode", ""),
            fits=_whole(query.get("fits", "")),
        )

    @property
    def is_set(self) -> bool:
        return bool(self.words or self.vendor or self.model or self.memory or self.mode or self.fits)

    def records(self, records: Iterable[ClassRecord]) -> list[ClassRecord]:
        """Keep the offers that are what is looked for."""
        return [record for record in records if self._is_wanted(record)]

    def cards(self, cards: Iterable[Card]) -> list[Card]:
        """Keep the cards with room for an order of this many, and put what cannot be ordered last."""
        kept = [card for card in cards if not self.fits or (card.biggest or 0) >= self.fits]
        return sorted(kept, key=lambda card: (card.state.rank, card.title.lower(), card.name))

    def _is_wanted(self, record: ClassRecord) -> bool:
        text = " ".join((record.name, record.title, record.vendor, record.model, record.profile)).lower()
        return (
            all(word in text for word in self.words.lower().split())
            and (not self.vendor or record.vendor.lower() == self.vendor)
            and (not self.model or record.model == self.model)
            and (not self.mode or record.mode == self.mode)
            and (not self.memory or (record.memory_bytes or 0) >= self.memory * _GIB)
        )

    def choices(self, records: Sequence[ClassRecord]) -> dict[str, list[Choice]]:
        """Give what can be chosen, from the offers there are."""
        vendors = sorted({record.vendor.lower() for record in records})
        models = sorted({record.model for record in records})
        memories = [
            step for step in MEMORY_STEPS if any((r.memory_bytes or 0) >= step * _GIB for r in records)
        ]
        return {
            "vendor": [Choice(v, vendor_word(v), v == self.vendor) for v in vendors],
            "model": [Choice(m, m, m == self.model) for m in models],
            "memory": [Choice(str(m), f"{m} GiB or more", m == self.memory) for m in memories],
            "mode": [
                Choice(Mode.PASSTHROUGH, "Passthrough", self.mode == Mode.PASSTHROUGH),
                Choice(Mode.VGPU, "vGPU", self.mode == Mode.VGPU),
            ],
            "fits": [Choice(str(n), f"Fits {n} now", n == self.fits) for n in CHIPS],
        }


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
