"""The stock of one class: sums over its nodes, kept up by differences."""

from __future__ import annotations

from msgspec import Struct

from gpu.buckets import Buckets
from gpu.cells import NO_FIGURES, Figures
from gpu.fit import Offer
from gpu.resources import GPUClass


class ClassTotals(Struct, frozen=True):
    """Units of every node that the class selects and that has its resource, whether it serves now or not.

    ``held`` includes ``in_use``; both count whatever class holds them, as classes may share a resource. Where nothing is
    over-committed, held + foreign + free + out_of_service = units. For the hoster only.
    """

    units: int = 0
    out_of_service: int = 0
    held: int = 0
    in_use: int = 0
    foreign: int = 0
    free: int = 0


class Stock:
    """One class with the nodes that serve it (``buckets``) and the sums over the nodes it selects."""

    __slots__ = (
        "buckets",
        "foreign",
        "gpu_class",
        "held",
        "in_use",
        "name",
        "offer",
        "out_of_service",
        "resource",
        "suiting",
        "units",
    )

    def __init__(self, gpu_class: GPUClass) -> None:
        self.gpu_class = gpu_class
        self.name = gpu_class.metadata.name
        self.offer = Offer.of(gpu_class)
        self.resource = gpu_class.resource_name
        self.buckets = Buckets()
        self.suiting: set[str] = set()
        """Nodes that would serve the class if they were in service: two classes that share one sell the same units."""
        self.units = 0
        self.held = 0
        self.in_use = 0
        self.foreign = 0
        self.out_of_service = 0

    def account(self, node: str, old: Figures, new: Figures) -> None:
        """Take in what changed on a node that serves the class."""
        capacity, held, in_use, foreign, free, _, _ = new
        was_capacity, was_held, was_in_use, was_foreign, was_free, _, _ = old
        if free != was_free or old is NO_FIGURES:
            self.buckets.put(node, free)
        self.held += held - was_held
        self.in_use += in_use - was_in_use
        self.foreign += foreign - was_foreign
        self.units += capacity - was_capacity
        out, was_out = capacity - held - foreign - free, was_capacity - was_held - was_foreign - was_free
        if out != was_out:
            self.out_of_service += max(0, out) - max(0, was_out)

    def account_idle(self, old: Figures, new: Figures) -> None:
        """Take in what changed on a node that the class selects and that does not serve it now."""
        self.held += new[1] - old[1]
        self.in_use += new[2] - old[2]
        self.foreign += new[3] - old[3]
        self.units += new[0] - old[0]
        self.out_of_service += max(0, new[0] - new[1] - new[3]) - max(0, old[0] - old[1] - old[3])

    def leave(self, node: str, figures: Figures) -> None:
        """Take out a node that served the class."""
        self.account(node, figures, NO_FIGURES)
        self.buckets.drop(node)

    def totals(self) -> ClassTotals:
        return ClassTotals(
            units=self.units,
            out_of_service=self.out_of_service,
            held=self.held,
            in_use=self.in_use,
            foreign=self.foreign,
            free=self.buckets.total,
        )
