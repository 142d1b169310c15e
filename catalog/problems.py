"""What a hoster should look at: offers nobody can be served from, numbers that do not add up, budgets of nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.urls import reverse

from catalog.resource_words import resource_warning
from gpu.budgets import TOTAL, subject_of
from gpu.conditions import ConditionType, Phase, condition_of
from gpu.resources import ConditionStatus
from portal.models import ClaimRecord, ClassRecord, GPUNodeRecord, NodeRecord, NodeStock, QuotaRecord

SHOWN: Final = 50
_SERVED: Final = {
    "NoNodeMatches": "Its node labels match no node.",
    "NoNodeReady": "The nodes that could serve it are not ready, cordoned or closed to VMs.",
    "TaintNotTolerated": "A taint of its nodes is not tolerated.",
    "ResourceNotAdvertised": "The nodes it selects do not advertise its resource.",
}


@dataclass(frozen=True)
class Problem:
    """One thing to look at, with the way to it."""

    title: str
    words: str
    url: str


def problems() -> list[Problem]:
    """Find them all, in a fixed number of queries."""
    offers = list(ClassRecord.objects.offered())
    cells = list(NodeStock.objects.order_by("node", "resource"))
    found = [
        *_offers(offers, {cell.resource for cell in cells}),
        *_limits(offers, cells),
        *_over_committed(cells),
        *_nodes(),
        *_budgets({offer.name for offer in offers}),
        *_waiting(),
    ]
    return found[:SHOWN]


def _offers(offers: list[ClassRecord], advertised: set[str]) -> Iterator[Problem]:
    for offer in offers:
        url = reverse("offer-edit", args=[offer.name])
        conditions = offer.object.status.conditions
        served = condition_of(conditions, ConditionType.SERVED)
        if served is not None and served.status is ConditionStatus.FALSE:
            words = _SERVED.get(served.reason, served.message)
            if offer.resource_name not in advertised:
                words = resource_warning(offer.resource_name, advertised)
            yield Problem(f"{offer.title} is served by no node", words, url)
        unshared = condition_of(conditions, ConditionType.SOURCE_UNSHARED)
        if unshared is not None and unshared.status is ConditionStatus.FALSE:
            yield Problem(
                f"{offer.title} shares its GPUs with another offer",
                unshared.message
                or "Two offers use one resource on the same node: their free counts count the same GPUs.",
                url,
            )


def _limits(offers: list[ClassRecord], cells: list[NodeStock]) -> Iterator[Problem]:
    largest: dict[str, int] = defaultdict(int)
    for cell in cells:
        largest[cell.resource] = max(largest[cell.resource], cell.capacity)
    for offer in offers:
        most = largest.get(offer.resource_name, 0)
        if offer.max_count is not None and most and offer.max_count > most:
            yield Problem(
                f"{offer.title} allows {offer.max_count} in one VM",
                f"No node has more than {most}, so an order of {offer.max_count} can never fit.",
                reverse("offer-edit", args=[offer.name]),
            )


def _over_committed(cells: list[NodeStock]) -> Iterator[Problem]:
    for cell in cells:
        if cell.over_committed:
            yield Problem(
                f"{cell.node} is over-committed by {cell.over_committed}",
                f"{cell.held} of {cell.resource} are held and {cell.allocatable} can be allocated. Holds are kept.",
                reverse("node", args=[cell.node]),
            )


def _nodes() -> Iterator[Problem]:
    for record in GPUNodeRecord.objects.filter(is_consistent=False).order_by("name")[:SHOWN]:
        yield Problem(
            f"The devices of {record.name} do not add up",
            "The sum of its devices differs from what the node says it can allocate.",
            reverse("node", args=[record.name]),
        )
    known = NodeRecord.objects.order_by().values("name")
    lost = ClaimRecord.objects.exclude(node_name="").exclude(node_name__in=known).in_order()
    for node, count in sorted(Counter(lost.values_list("node_name", flat=True)[:500]).items()):
        yield Problem(
            f"{count} held on {node}, which is gone", "They wait for another node.", reverse("all-holds")
        )


def _budgets(names: set[str]) -> Iterator[Problem]:
    for quota in QuotaRecord.objects.order_by("namespace", "name"):
        for key in sorted(quota.hard):
            subject = subject_of(key)
            if subject is not None and subject != TOTAL and subject not in names:
                yield Problem(
                    f"{key} is a budget of no offer",
                    f"In {quota.namespace}/{quota.name}. Probably a typing error: nothing counts against it.",
                    reverse("offers"),
                )


def _waiting() -> Iterator[Problem]:
    waiting = ClaimRecord.objects.waiting().count()
    if waiting:
        yield Problem(
            f"{waiting} order{'s' if waiting > 1 else ''} waiting for a node",
            "New orders find only what is left after them.",
            f"{reverse('all-holds')}?phase={Phase.WAITING}",
        )
