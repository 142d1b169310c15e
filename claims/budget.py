"""What a tenant may hold and holds: one line per budget, for the budget page and the API."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BudgetLine:
    """One budget. ``limit`` None is "no limit set", 0 is "forbidden"; ``class_name`` None is the total of all offers.

    ``used`` counts units, releasing ones included; ``releasing`` is the part of it that is on its way out. ``quota`` names the
    object the limit comes from and ``pool`` the tenant who owns it ("" without a limit).
    """

    key: str
    class_name: str | None
    title: str
    used: int
    releasing: int
    limit: int | None
    quota: str
    pool: str

    @property
    def left(self) -> int | None:
        """Units that may still be ordered, never below 0; None without a limit."""
        return None if self.limit is None else max(0, self.limit - self.used)


def budget_of(namespace: str) -> tuple[BudgetLine, ...]:
    """Give the total first, then a line per offer that has a limit or is held here, by name. From the mirror."""
    raise NotImplementedError
