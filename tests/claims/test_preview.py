from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.http import Http404
from django.utils import timezone

from claims.orders import OrderSpec
from claims.pools import standing_of
from claims.preview import Preview, largest_orders, preview
from gpu.fit import CheckName, Reason
from gpu.resources import Condition, ConditionStatus, GPUClass, GPUClassStatus
from portal.access import Access, access_of
from portal.mirror import feeds
from portal.models import ClassRecord, FeedState, User
from tests.builders import NOON, a_claim, a_class, a_launcher, a_node, a_quota
from tests.fixtures.rest import Mirrored, Rest

pytestmark = pytest.mark.usefixtures("rest")


def with_room(
    gpu_class: GPUClass, *, free: int | None, most: int | None = None, served: bool = True
) -> GPUClass:
    condition = Condition(
        type="Served",
        status=ConditionStatus.TRUE if served else ConditionStatus.FALSE,
        reason="Served" if served else "NoNodeMatches",
        message="",
        last_transition_time=NOON,
    )
    gpu_class.status = GPUClassStatus(
        free=free, max_free_per_node=free if most is None else most, conditions=[condition]
    )
    return gpu_class


def alice() -> Access:
    return access_of(User.objects.get(username="alice"))


def ask(count: int = 1, of: str = "l40s", *, set_name: str | None = None) -> Preview:
    return preview(alice(), OrderSpec(namespace="tenant-acme", class_name=of, count=count, set_name=set_name))


def reasons(answer: Preview) -> list[str]:
    return [refusal.reason.value for refusal in answer.verdict.refusals]


def test_an_order_that_fits_passes_every_check(mirrored: Mirrored) -> None:
    mirrored(with_room(a_class("l40s"), free=8, most=4))

    answer = ask(4)

    assert answer.verdict.ok
    assert {check.name for check in answer.verdict.checks} == set(CheckName)
    assert (answer.largest, answer.smaller, answer.others) == (4, None, ())


def test_fragmentation_is_told_with_its_numbers_and_what_would_fit(mirrored: Mirrored) -> None:
    mirrored(
        with_room(a_class("l40s"), free=8, most=4),
        with_room(a_class("l40s-pool", display_name="L40S pool"), free=16, most=8),
        with_room(a_class("l40s-small"), free=2),
        with_room(a_class("l40s-out"), free=0),
        with_room(a_class("l40s-unknown"), free=None),
        with_room(a_class("h100", model="H100"), free=8),
        with_room(a_class("l4", model="L4"), free=5),
    )

    answer = ask(6)

    (refusal,) = answer.verdict.refusals
    assert (refusal.reason, refusal.numbers) == (
        Reason.NO_NODE_FITS,
        {"asked": 6, "free": 8, "maxFreePerNode": 4},
    )
    assert answer.smaller is not None
    assert (answer.smaller.class_name, answer.smaller.count) == ("l40s", 4)
    assert [(other.class_name, other.count) for other in answer.others] == [
        ("l40s-pool", 6),
        ("l40s-small", 2),
        ("h100", 6),
    ]


def test_what_would_fit_respects_the_budget(mirrored: Mirrored) -> None:
    mirrored(
        with_room(a_class("l40s"), free=8),
        with_room(a_class("l40s-b"), free=8),
        a_quota({"gpu.cozystack.io/l40s": "5", "gpu.cozystack.io/total": "4"}),
        a_claim("held", gpus=2),
    )

    answer = ask(4)

    assert reasons(answer) == ["ClassBudgetExceeded", "TotalBudgetExceeded"]
    assert answer.smaller is not None
    assert (answer.smaller.count, [other.count for other in answer.others]) == (2, [2])


def test_unknown_is_never_shown_as_none_free(mirrored: Mirrored) -> None:
    mirrored(with_room(a_class("l40s"), free=None))

    assert reasons(ask()) == ["CapacityUnknown"]
    assert ask().others == ()


def test_old_numbers_count_as_unknown_with_their_age(mirrored: Mirrored) -> None:
    mirrored(with_room(a_class("l40s"), free=8))
    FeedState.objects.update(synced_at=timezone.now() - timedelta(seconds=300))

    (refusal,) = ask().verdict.refusals

    assert refusal.reason is Reason.CAPACITY_UNKNOWN
    assert int(refusal.numbers["age"]) >= 300


def test_before_the_first_sync_nothing_is_known(mirrored: Mirrored) -> None:
    mirrored(with_room(a_class("l40s"), free=8))
    FeedState.objects.all().delete()

    assert reasons(ask()) == ["CapacityUnknown"]
    feeds.synced("gpuclasses", at=timezone.now())
    assert reasons(ask()) == ["CapacityUnknown"]


def test_an_offer_that_is_gone_or_being_withdrawn_does_not_exist(mirrored: Mirrored) -> None:
    withdrawn = with_room(a_class("l40s"), free=8)
    withdrawn.metadata.deletion_timestamp = NOON
    mirrored(withdrawn)

    assert reasons(ask()) == ["ClassNotFound"]
    assert reasons(ask(of="nothing")) == ["ClassNotFound"]


def test_no_node_and_a_vm_limit_are_told_together(mirrored: Mirrored) -> None:
    mirrored(with_room(a_class("l40s", max_count=2), free=0, served=False))

    assert reasons(ask(3)) == ["CountAboveMax", "NoEligibleNode"]


@pytest.mark.parametrize(("count", "want"), [(1, []), (2, ["SetNodeFull"])])
def test_a_set_is_checked_on_its_node(mirrored: Mirrored, count: int, want: list[str]) -> None:
    mirrored(
        with_room(a_class("l40s"), free=9, most=8),
        a_node("n1", gpus=4),
        a_node("n2", gpus=8),
        a_claim("first", gpus=1, set_name="pair", node="n1"),
        a_claim("waits", gpus=1, set_name="pair"),
        a_claim("neighbour", gpus=1, namespace="tenant-globex", node="n1"),
        a_launcher("vm", claims=["neighbour"], namespace="tenant-globex", node="n1"),
    )

    assert reasons(ask(count, set_name="pair")) == want


def test_a_set_whose_node_serves_no_more_takes_nothing(mirrored: Mirrored) -> None:
    mirrored(
        with_room(a_class("l40s"), free=8),
        a_node("n1", cordoned=True),
        a_claim("first", set_name="pair", node="n1"),
    )

    assert reasons(ask(set_name="pair")) == ["SetNodeFull"]


def test_a_stranger_learns_nothing(mirrored: Mirrored) -> None:
    charlie = access_of(User.objects.get(username="charlie"))

    with pytest.raises(Http404):
        preview(charlie, OrderSpec(namespace="tenant-acme", class_name="l40s"))


def test_the_largest_order_of_every_offer(mirrored: Mirrored) -> None:
    mirrored(
        with_room(a_class("l40s", max_count=3), free=8),
        with_room(a_class("h100"), free=8, most=4),
        with_room(a_class("unknown"), free=None),
        a_quota({"gpu.cozystack.io/h100": "1"}),
    )

    largest = largest_orders(
        "tenant-acme", list(ClassRecord.objects.offered()), standing_of("tenant-acme").budgets
    )

    assert largest == {"h100": 1, "l40s": 3, "unknown": 0}


def test_a_preview_costs_the_same_number_of_queries_for_many_rows(
    mirrored: Mirrored, rest: Callable[..., Rest], django_assert_max_num_queries: Any
) -> None:
    mirrored(*(with_room(a_class(f"class-{number}"), free=8) for number in range(30)))
    mirrored(*(a_claim(f"claim-{number}") for number in range(100)))
    mirrored(a_quota({"gpu.cozystack.io/total": "500"}))
    access = alice()

    with django_assert_max_num_queries(9):
        preview(access, OrderSpec(namespace="tenant-acme", class_name="class-1", count=9))
