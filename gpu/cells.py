"""What is known of one resource on one node: the cell that every count is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from gpu.stock import Stock


class Cell(Struct, frozen=True):
    """One resource on one node, in units.

    ``held`` is everything claims and reservations keep there, ``in_use`` the part of it that a VM runs with, ``foreign`` what
    pods ask for beyond their claims. ``over_committed`` of the held units have no device behind them at the moment.
    """

    capacity: int = 0
    allocatable: int = 0
    foreign: int = 0
    held: int = 0
    in_use: int = 0
    free: int = 0
    over_committed: int = 0


Figures = tuple[int, int, int, int, int, int, int]
"""capacity, held, in_use, foreign, free, over_committed, allocatable: what the sums over a class's nodes are made of."""
NO_FIGURES: Final[Figures] = (0, 0, 0, 0, 0, 0, 0)


class Tally:
    """The running count behind a cell.

    Events change the first five numbers and mark the tally dirty; ``figures`` is what the classes' sums were last told. While
    ``is_closed`` nothing is free: units of the node are held, and nobody knows whether they are these.
    """

    __slots__ = (
        "allocatable",
        "capacity",
        "figures",
        "foreign",
        "held",
        "idle",
        "in_use",
        "is_closed",
        "is_dirty",
        "node",
        "resource",
        "serving",
    )

    def __init__(self, node: str, resource: str) -> None:
        self.node = node
        self.resource = resource
        self.capacity = 0
        self.allocatable = 0
        self.foreign = 0
        self.held = 0
        self.in_use = 0
        self.is_closed = False
        self.is_dirty = False
        self.figures = NO_FIGURES
        self.serving: tuple[Stock, ...] = ()
        self.idle: tuple[Stock, ...] = ()

    def current(self) -> Figures:
        """Compute the figures from the counts."""
        taken = self.held + self.foreign
        room = self.allocatable - taken
        if room >= 0:
            free = 0 if self.is_closed else room
            return (self.capacity, self.held, self.in_use, self.foreign, free, 0, self.allocatable)
        return (
            self.capacity,
            self.held,
            self.in_use,
            self.foreign,
            0,
            min(self.held, -room),
            self.allocatable,
        )

    def as_cell(self) -> Cell:
        capacity, held, in_use, foreign, free, over_committed, allocatable = self.current()
        return Cell(
            capacity=capacity,
            allocatable=allocatable,
            foreign=foreign,
            held=held,
            in_use=in_use,
            free=free,
            over_committed=over_committed,
        )
