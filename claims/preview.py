"""Would the order fit now, and what would fit instead: the first of the three doors, asked before submitting.

Answers from the mirror alone. Admission decides; the preview uses the same rule (:func:`gpu.fit.check`) with the same numbers, so
it gives the same reasons.
"""

from __future__ import annotations

from dataclasses import dataclass

from claims.orders import OrderSpec
from gpu.fit import Verdict
from gpu.resources import GPUClass
from portal.access import Access


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """An order that would fit now. ``count`` is the largest number, at most what was asked."""

    class_name: str
    title: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The verdict with every check, and what would fit now (empty when the order fits or nothing does).

    ``smaller`` is the same offer with fewer units; ``others`` are other offers with room, those of the same model first.
    """

    spec: OrderSpec
    offer: GPUClass | None
    verdict: Verdict
    smaller: Alternative | None = None
    others: tuple[Alternative, ...] = ()


def preview(access: Access, spec: OrderSpec) -> Preview:
    """Check the order against the mirror. Refuses nothing by exception: the verdict says it all."""
    raise NotImplementedError
