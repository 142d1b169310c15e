"""Does an order fit, and if not, why: the one function that every door asks.

The form and the dry run ask it with what the mirror knows, admission with the ledger. Every refusal is reported, not the
first, each with its numbers; the words are in :mod:`gpu.sentences`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from gpu.resources import GPUClass, GPUClassSpec, Mode

Numbers = dict[str, int | str]


class Reason(StrEnum):
    """Why an order is refused, in the order in which refusals are told."""

    CLASS_NOT_FOUND = "ClassNotFound"
    COUNT_ABOVE_MAX = "CountAboveMax"
    NO_ELIGIBLE_NODE = "NoEligibleNode"
    NO_CAPACITY = "NoCapacity"
    NO_NODE_FITS = "NoNodeFits"
    SET_NODE_FULL = "SetNodeFull"
    CLASS_BUDGET_EXCEEDED = "ClassBudgetExceeded"
    TOTAL_BUDGET_EXCEEDED = "TotalBudgetExceeded"
    CAPACITY_UNKNOWN = "CapacityUnknown"


class CheckName(StrEnum):
    """The lines of the verdict panel."""

    STOCK = "stock"
    ONE_NODE = "one_node"
    PER_VM = "per_vm"
    CLASS_BUDGET = "class_budget"
    TOTAL_BUDGET = "total_budget"


class Refusal(Struct, frozen=True):
    """One reason with its numbers. ``numbers`` has the keys of the reason's contract and no others."""

    reason: Reason
    numbers: Numbers = {}


class Order(Struct, frozen=True):
    """What a tenant asks for."""

    namespace: str
    class_name: str
    count: int = 1
    set_name: str | None = None


class Offer(Struct, frozen=True):
    """What a class promises. ``max_count`` is the effective one; ``None`` is no limit."""

    name: str
    title: str
    max_count: int | None = None

    @classmethod
    def of(cls, gpu_class: GPUClass) -> Offer:
        return cls(gpu_class.metadata.name, gpu_class.title, effective_max_count(gpu_class.spec))


class Capacity(Struct, frozen=True):
    """What is free for one order now, after the claims that wait. ``None`` is unknown, which is never 0.

    ``free_on_set_node`` is set only when the order's set is already on a node.
    """

    free: int | None = None
    max_free_per_node: int | None = None
    has_eligible_node: bool | None = None
    free_on_set_node: int | None = None
    age_seconds: int | None = None

    @classmethod
    def unknown(cls, age_seconds: int | None = None) -> Capacity:
        return cls(age_seconds=age_seconds)


class Budget(Struct, frozen=True):
    """One limit an order counts against. ``limit`` is what the pool of namespaces may use, carve-outs already taken off.

    ``quota`` is "namespace/name" of the object that sets it, ``pool`` the namespace that owns the pool.
    """

    key: str
    used: int
    limit: int
    quota: str
    pool: str
    is_total: bool


class Check(Struct, frozen=True):
    """One line of the verdict. Not passed without a refusal of its own: another line already tells the reason.

    A check that does not apply has passed, and its numbers hold no limit.
    """

    name: CheckName
    passed: bool
    numbers: Numbers = {}
    refusal: Refusal | None = None


class Verdict(Struct, frozen=True):
    """The answer. ``checks`` has one entry for each line, whatever the outcome."""

    checks: tuple[Check, ...]

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        found = {check.refusal.reason: check.refusal for check in self.checks if check.refusal is not None}
        return tuple(found[reason] for reason in Reason if reason in found)

    @property
    def ok(self) -> bool:
        return all(check.refusal is None for check in self.checks)


def effective_max_count(spec: GPUClassSpec) -> int | None:
    """Resolve an unset maxCount: 1 for vgpu, no limit for passthrough. The only place that does."""
    if spec.max_count is not None:
        return spec.max_count
    return 1 if spec.mode is Mode.VGPU else None


def check(order: Order, offer: Offer | None, capacity: Capacity, budgets: Sequence[Budget] = ()) -> Verdict:
    """Check the order against the offer, what is free and the budgets; the order that exactly fills one of them passes."""
    if offer is None:
        return _class_not_found(order)
    return Verdict(
        (
            _stock(order, capacity),
            _one_node(order, capacity),
            _per_vm(order, offer),
            _budget(
                CheckName.CLASS_BUDGET, Reason.CLASS_BUDGET_EXCEEDED, order, _of(budgets, is_total=False)
            ),
            _budget(CheckName.TOTAL_BUDGET, Reason.TOTAL_BUDGET_EXCEEDED, order, _of(budgets, is_total=True)),
        )
    )


def largest_order(offer: Offer | None, capacity: Capacity, budgets: Iterable[Budget] = ()) -> int:
    """Give the biggest count that :func:`check` accepts now; 0 when none does or what is free is unknown."""
    if offer is None or capacity.free is None or capacity.max_free_per_node is None:
        return 0
    limits = [capacity.free, capacity.max_free_per_node]
    if capacity.free_on_set_node is not None:
        limits[1] = capacity.free_on_set_node
    if capacity.has_eligible_node is False:
        return 0
    if offer.max_count is not None:
        limits.append(offer.max_count)
    limits.extend(budget.limit - budget.used for budget in budgets)
    return max(0, min(limits))


def _class_not_found(order: Order) -> Verdict:
    """Nothing more can be said about an order of something that does not exist."""
    refusal = Refusal(Reason.CLASS_NOT_FOUND)
    asked: Numbers = {"asked": order.count}
    return Verdict(
        tuple(
            Check(name, passed=False, numbers=asked, refusal=refusal if name is CheckName.STOCK else None)
            for name in CheckName
        )
    )


def _unknown(capacity: Capacity) -> Refusal:
    age = capacity.age_seconds
    return Refusal(Reason.CAPACITY_UNKNOWN, {} if age is None else {"age": age})


def _stock(order: Order, capacity: Capacity) -> Check:
    asked = order.count
    if capacity.free is None:
        return Check(CheckName.STOCK, passed=False, numbers={"asked": asked}, refusal=_unknown(capacity))
    numbers: Numbers = {"asked": asked, "free": capacity.free}
    if capacity.has_eligible_node is False:
        # NoCapacity would only repeat it: where no node serves the class, nothing is free.
        return Check(CheckName.STOCK, passed=False, numbers=numbers, refusal=Refusal(Reason.NO_ELIGIBLE_NODE))
    if capacity.free < asked:
        return Check(
            CheckName.STOCK, passed=False, numbers=numbers, refusal=Refusal(Reason.NO_CAPACITY, numbers)
        )
    return Check(CheckName.STOCK, passed=True, numbers=numbers)


def _one_node(order: Order, capacity: Capacity) -> Check:
    asked, free, largest = order.count, capacity.free, capacity.max_free_per_node
    if free is None or largest is None:
        return Check(CheckName.ONE_NODE, passed=False, numbers={"asked": asked}, refusal=_unknown(capacity))
    on_set_node = capacity.free_on_set_node
    if on_set_node is not None:
        numbers: Numbers = {"asked": asked, "freeOnSetNode": on_set_node}
        fits = asked <= on_set_node
        refusal = None if fits else Refusal(Reason.SET_NODE_FULL, numbers)
        return Check(CheckName.ONE_NODE, passed=fits, numbers=numbers, refusal=refusal)
    numbers = {"asked": asked, "free": free, "maxFreePerNode": largest}
    fits = asked <= largest
    fragmented = not fits and free >= asked and capacity.has_eligible_node is not False
    refusal = Refusal(Reason.NO_NODE_FITS, numbers) if fragmented else None
    return Check(CheckName.ONE_NODE, passed=fits, numbers=numbers, refusal=refusal)


def _per_vm(order: Order, offer: Offer) -> Check:
    if offer.max_count is None:
        return Check(CheckName.PER_VM, passed=True, numbers={"asked": order.count})
    numbers: Numbers = {"asked": order.count, "max": offer.max_count}
    fits = order.count <= offer.max_count
    refusal = None if fits else Refusal(Reason.COUNT_ABOVE_MAX, numbers)
    return Check(CheckName.PER_VM, passed=fits, numbers=numbers, refusal=refusal)


def _budget(name: CheckName, reason: Reason, order: Order, budget: Budget | None) -> Check:
    if budget is None:
        return Check(name, passed=True, numbers={"asked": order.count})
    numbers: Numbers = {
        "asked": order.count,
        "used": budget.used,
        "limit": budget.limit,
        "key": budget.key,
        "quota": budget.quota,
    }
    fits = budget.used + order.count <= budget.limit
    return Check(name, passed=fits, numbers=numbers, refusal=None if fits else Refusal(reason, numbers))


def _of(budgets: Iterable[Budget], *, is_total: bool) -> Budget | None:
    """Choose the tightest where a caller hands over several."""
    matching = (budget for budget in budgets if budget.is_total == is_total)
    return min(matching, key=lambda budget: (budget.limit - budget.used, budget.quota), default=None)
