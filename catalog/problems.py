"""What a hoster should look at: offers nobody can be served from, numbers that do not add up, budgets of nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.db.models import Case, Count, Exists, F, Max, OuterRef, TextField, Value, When
from django.urls import reverse

from catalog.offer_states import NOT_SERVED_WORDS
from catalog.resource_words import resource_warning
from gpu.budgets import TOTAL, subject_of
from gpu.conditions import ConditionType, Phase, condition_of
from gpu.resources import ConditionStatus
from portal.models import ClaimRecord, ClassRecord, GPUNodeRecord, NodeRecord, NodeStock
from portal.tenancy import budget_quotas

SHOWN: Final = 50


@dataclass(frozen=True)
class Problem:
    """One thing to look at, with the way to it."""

    title: str
    words: str
    url: str


def problems(offers: Sequence[ClassRecord]) -> list[Problem]:
    """Find them all, in one query beside the offers."""
    facts: dict[str, list[_Fact]] = defaultdict(list)
    for row in _facts():
        facts[row[0]].append(_Fact(*row))
    largest = {fact.subject: fact.units for fact in facts[_LARGEST]}
    found = [
        *_offers(offers, largest.keys()),
        *_limits(offers, largest),
        *map(_over_committed, facts[_OVER_COMMITTED]),
        *map(_torn, facts[_TORN]),
        *map(_gone, facts[_GONE]),
        *_budgets({offer.name for offer in offers}),
        *map(_waiting, facts[_WAITING]),
    ]
    return found[:SHOWN]


class _Fact(NamedTuple):
    """One row of what the tables say. Which units, and of what, depends on ``what``."""

    what: str
    subject: str
    resource: str
    units: int
    allocatable: int
    over: int


_LARGEST: Final = "largest"
_OVER_COMMITTED: Final = "over-committed"
_GONE: Final = "gone"
_TORN: Final = "torn"
_WAITING: Final = "waiting"
_NONE: Final = Value(0)


def _facts() -> Iterable[tuple[Any, ...]]:
    """Ask every table in one query: the most units a node has of each resource, and what is wrong."""
    cells = NodeStock.objects.order_by()
    largest = cells.values("resource").annotate(
        what=_text(_LARGEST),
        subject=F("resource"),
        more=_text(""),
        units=Max("capacity"),
        least=_NONE,
        over=_NONE,
    )
    is_gone = ~Exists(NodeRecord.objects.filter(name=OuterRef("node")))
    above = cells.filter(over_committed__gt=0).annotate(
        what=Case(When(is_gone, then=_text(_GONE)), default=_text(_OVER_COMMITTED)),
        subject=F("node"),
        more=F("resource"),
        units=F("held"),
        least=F("allocatable"),
        over=F("over_committed"),
    )
    torn = (
        GPUNodeRecord.objects.filter(is_consistent=False)
        .order_by()
        .annotate(what=_text(_TORN), subject=F("name"), more=_text(""), units=_NONE, least=_NONE, over=_NONE)
    )
    waiting = (
        ClaimRecord.objects.waiting()
        .order_by()
        .values("phase")
        .annotate(
            what=_text(_WAITING),
            subject=_text(""),
            more=_text(""),
            units=Count("pk"),
            least=_NONE,
            over=_NONE,
        )
    )
    names = ("what", "subject", "more", "units", "least", "over")
    parts = [part.values_list(*names) for part in (largest, above, torn, waiting)]
    return parts[0].union(*parts[1:], all=True).order_by("subject", "more")


def _text(text: str) -> Value:
    return Value(text, output_field=TextField())


def _offers(offers: Sequence[ClassRecord], advertised: Collection[str]) -> Iterator[Problem]:
    for offer in offers:
        url = reverse("offer-edit", args=[offer.name])
        conditions = offer.object.status.conditions
        served = condition_of(conditions, ConditionType.SERVED)
        if served is not None and served.status is ConditionStatus.FALSE:
            words = NOT_SERVED_WORDS.get(served.reason, served.message)
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


def _limits(offers: Sequence[ClassRecord], largest: Mapping[str, int]) -> Iterator[Problem]:
    for offer in offers:
        most = largest.get(offer.resource_name, 0)
        if offer.max_count is not None and most and offer.max_count > most:
            yield Problem(
                f"{offer.title} allows {offer.max_count} in one VM",
                f"No node has more than {most}, so an order of {offer.max_count} can never fit.",
                reverse("offer-edit", args=[offer.name]),
            )


def _over_committed(fact: _Fact) -> Problem:
    return Problem(
        f"{fact.subject} is over-committed by {fact.over}",
        f"{fact.units} of {fact.resource} are held and {fact.allocatable} can be allocated. Holds are kept.",
        reverse("node", args=[fact.subject]),
    )


def _torn(fact: _Fact) -> Problem:
    return Problem(
        f"The devices of {fact.subject} do not add up",
        "The sum of its devices differs from what the node says it can allocate.",
        reverse("node", args=[fact.subject]),
    )


def _gone(fact: _Fact) -> Problem:
    return Problem(
        f"{fact.units} held on {fact.subject}, which is gone",
        "They wait for another node.",
        reverse("all-holds"),
    )


def _budgets(names: set[str]) -> Iterator[Problem]:
    for quotas in budget_quotas().values():
        for quota in quotas:
            for key in sorted(quota.spec.hard):
                subject = subject_of(key)
                if subject is not None and subject != TOTAL and subject not in names:
                    yield Problem(
                        f"{key} is a budget of no offer",
                        f"In {quota.metadata.namespace}/{quota.metadata.name}. Probably a typing error: nothing counts against it.",
                        reverse("offers"),
                    )


def _waiting(fact: _Fact) -> Problem:
    return Problem(
        f"{fact.units} order{'s' if fact.units > 1 else ''} waiting for a node",
        "New orders find only what is left after them.",
        f"{reverse('all-holds')}?phase={Phase.WAITING}",
    )
