"""Orders under way, as the judge of refusals sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.oversell.facts import ClassFacts
from bench.oversell.model import Pool

if TYPE_CHECKING:
    from bench.oversell.checker import Order


@dataclass(eq=False)
class Call:
    """One order from its sending until it is judged. ``nodes`` are those on which it fitted all the time so far."""

    order: Order
    found: ClassFacts
    nodes: set[str]
    pools: list[Pool]
    namespaces: frozenset[str]
    refused_as: str = ""
    closes_at: float = field(default=float("inf"))


@dataclass(frozen=True)
class Pending:
    """Units that are charged somewhere, or may be."""

    namespace: str
    class_name: str
    resource: str
    count: int
    set_name: str | None = None
    until: float = float("inf")
