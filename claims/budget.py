"""What a tenant may hold and holds: one line per budget, for the budget page and the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from claims.pools import Held, standing_of
from gpu.budgets import TOTAL, budget_key
from gpu.fit import Budget
from portal.models import ClassRecord

_NOTHING: Final = Held(0, 0)


@dataclass(frozen=True, kw_only=True)
class BudgetLine:
    """One budget. ``limit`` None is "no limit set", 0 is "forbidden"; ``class_name`` None is the total of all offers.

    ``used`` counts the units of the whole pool against the limit, releasing ones included; ``held_here`` is this tenant's part of it
    and ``releasing`` what of that is on its way out. ``quota`` names the object the limit comes from and ``pool`` the tenant who
    owns it ("" without a limit).
    """

    key: str
    class_name: str | None
    title: str
    used: int
    held_here: int
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
    standing = standing_of(namespace)
    limits = {budget.key: budget for budget in standing.budgets.of_namespace(namespace)}
    held = standing.held
    titles = {
        record.name: record.title
        for record in ClassRecord.objects.order_by("name").only("name", "display_name")
    }
    limited = {budget.key.partition("/")[2] for budget in limits.values() if not budget.is_total}
    total = Held(sum(each.units for each in held.values()), sum(each.releasing for each in held.values()))
    return (
        _line(None, "All offers", total, limits.get(budget_key(TOTAL))),
        *(
            _line(name, titles.get(name, name), held.get(name, _NOTHING), limits.get(budget_key(name)))
            for name in sorted(limited | held.keys())
        ),
    )


def _line(class_name: str | None, title: str, held: Held, budget: Budget | None) -> BudgetLine:
    return BudgetLine(
        key=budget_key(class_name or TOTAL),
        class_name=class_name,
        title=title,
        used=budget.used if budget else held.units,
        held_here=held.units,
        releasing=held.releasing,
        limit=budget.limit if budget else None,
        quota=budget.quota if budget else "",
        pool=budget.pool if budget else "",
    )
