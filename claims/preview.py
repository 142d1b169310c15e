"""Would the order fit now, and what would fit instead: the first of the three doors, asked before submitting.

Answers from the mirror alone. Admission decides; the preview uses the same rule (:func:`gpu.fit.check`) with the same numbers, so
it gives the same reasons.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from claims.orders import OrderSpec
from claims.pools import standing_of
from claims.set_room import free_on_set_node
from gpu.budgets import Budgets
from gpu.fit import Budget, Capacity, Offer, Verdict, check, largest_order
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, RESOURCE_QUOTAS
from portal.access import Access, Right, check_tenant
from portal.freshness import freshness
from portal.models import ClassRecord

MAX_OTHERS: Final = 4
_ASKED_OF: Final = tuple(kind.plural for kind in (GPU_CLASSES, GPU_CLAIMS, RESOURCE_QUOTAS))


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """An order that would fit now. ``count`` is the largest number, at most what was asked."""

    class_name: str
    title: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The verdict with every check, and what would fit now (empty when the order fits or nothing does).

    ``largest`` is the biggest order of this offer that fits now. ``smaller`` is the same offer with fewer units; ``others`` are other
    offers with room, those of the same model first.
    """

    spec: OrderSpec
    offer: ClassRecord | None
    verdict: Verdict
    largest: int = 0
    smaller: Alternative | None = None
    others: tuple[Alternative, ...] = ()


def preview(access: Access, spec: OrderSpec) -> Preview:
    """Check the order against the mirror. Refuses nothing by exception: the verdict says it all.

    Raises Http404 for a tenant that is not the caller's to see: the budgets' numbers are its own.
    """
    check_tenant(access, spec.namespace, Right.VIEW)
    offers = {record.name: record for record in ClassRecord.objects.offered()}
    record = offers.get(spec.class_name)
    budgets = standing_of(spec.namespace).budgets
    room = _Room.now(spec, offers.values())
    capacity = room.for_class(record)
    limits = budgets.for_order(spec.namespace, spec.class_name)
    offer = None if record is None else _offer(record)
    verdict = check(spec.order, offer, capacity, limits)
    largest = largest_order(offer, capacity, limits)
    if verdict.ok:
        return Preview(spec=spec, offer=record, verdict=verdict, largest=largest)
    return Preview(
        spec=spec,
        offer=record,
        verdict=verdict,
        largest=largest,
        smaller=_smaller(spec, record, largest),
        others=_others(spec, record, offers.values(), room, budgets),
    )


def largest_orders(namespace: str, offers: Sequence[ClassRecord], budgets: Budgets) -> dict[str, int]:
    """Give for each offer the biggest count that the tenant could order now; 0 when none or unknown."""
    room = _Room.now(OrderSpec(namespace=namespace, class_name=""), offers)
    return {
        record.name: largest_order(
            _offer(record), room.for_class(record), budgets.for_order(namespace, record.name)
        )
        for record in offers
    }


@dataclass(frozen=True)
class _Room:
    """What is free for one order, as far as the mirror can be believed."""

    is_believed: bool
    age_seconds: int | None
    on_set_node: Mapping[str, int | None]

    @classmethod
    def now(cls, spec: OrderSpec, offers: Collection[ClassRecord]) -> _Room:
        state = freshness(*_ASKED_OF)
        return cls(not state.is_stale, state.age_seconds, free_on_set_node(spec, offers))

    def for_class(self, record: ClassRecord | None) -> Capacity:
        if not self.is_believed or record is None or record.free is None:
            return Capacity.unknown(self.age_seconds)
        on_set_node = self.on_set_node.get(record.name)
        return Capacity(
            free=record.free,
            max_free_per_node=record.max_free_per_node,
            has_eligible_node=record.is_served,
            free_on_set_node=None if on_set_node is None else min(on_set_node, record.free),
        )


def _offer(record: ClassRecord) -> Offer:
    return Offer(record.name, record.title, record.max_count)


def _smaller(spec: OrderSpec, record: ClassRecord | None, largest: int) -> Alternative | None:
    if record is None or not 0 < largest < spec.count:
        return None
    return Alternative(class_name=record.name, title=record.title, count=largest)


def _others(
    spec: OrderSpec, wanted: ClassRecord | None, offers: Iterable[ClassRecord], room: _Room, budgets: Budgets
) -> tuple[Alternative, ...]:
    """Give other offers: those of the same model with whatever room they have, the rest when all that was asked fits."""
    found: list[tuple[bool, int, Alternative]] = []
    for record in offers:
        if wanted is not None and record.name == wanted.name:
            continue
        limits: Sequence[Budget] = budgets.for_order(spec.namespace, record.name)
        count = min(spec.count, largest_order(_offer(record), room.for_class(record), limits))
        is_alike = wanted is not None and (record.vendor, record.model) == (wanted.vendor, wanted.model)
        if count == spec.count or (is_alike and count > 0):
            found.append(
                (not is_alike, -count, Alternative(class_name=record.name, title=record.title, count=count))
            )
    found.sort(key=lambda entry: (entry[0], entry[1], entry[2].class_name))
    return tuple(alternative for _, _, alternative in found[:MAX_OTHERS])
