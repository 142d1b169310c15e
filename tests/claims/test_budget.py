from __future__ import annotations

import pytest

from claims.budget import BudgetLine, budget_of
from tests.builders import a_claim, a_class, a_namespace, a_quota
from tests.fixtures.rest import Mirrored

pytestmark = pytest.mark.django_db


def lines(namespace: str = "tenant-acme") -> dict[str, BudgetLine]:
    return {line.class_name or "total": line for line in budget_of(namespace)}


def limits(namespace: str = "tenant-acme") -> dict[str, int | None]:
    return {name: line.limit for name, line in lines(namespace).items()}


def test_no_quota_is_no_limit(mirrored: Mirrored) -> None:
    mirrored(a_claim("one", gpus=2))

    assert limits() == {"total": None, "l40s": None}
    assert lines()["total"].used == 2
    assert lines()["l40s"].left is None


def test_a_quota_without_gpu_keys_is_no_limit(mirrored: Mirrored) -> None:
    mirrored(a_quota({"requests.cpu": "4", "count/pods": "10", "gpu.cozystack.io.example/l40s": "1"}))

    assert limits() == {"total": None}


def test_a_limit_of_one_offer_says_nothing_of_another(mirrored: Mirrored) -> None:
    mirrored(a_quota({"gpu.cozystack.io/l40s": "4"}), a_claim("one", of="h100"))

    assert limits() == {"total": None, "h100": None, "l40s": 4}


def test_zero_is_forbidden_and_not_unlimited(mirrored: Mirrored) -> None:
    mirrored(a_quota({"gpu.cozystack.io/l40s": "0"}))

    assert (lines()["l40s"].limit, lines()["l40s"].left) == (0, 0)


def test_three_spellings_are_one_budget_and_the_smallest_counts(mirrored: Mirrored) -> None:
    mirrored(
        a_quota({"gpu.cozystack.io/l40s": "4", "requests.gpu.cozystack.io/l40s": "3"}),
        a_quota({"limits.gpu.cozystack.io/l40s": "2", "gpu.cozystack.io/total": "9"}, name="second"),
    )

    assert limits() == {"total": 9, "l40s": 2}
    assert lines()["l40s"].quota == "tenant-acme/second"


def test_over_budget_leaves_nothing_and_never_less(mirrored: Mirrored) -> None:
    mirrored(a_quota({"gpu.cozystack.io/l40s": "1"}), a_claim("one", gpus=3))

    assert (lines()["l40s"].used, lines()["l40s"].left) == (3, 0)


def test_what_is_being_released_still_counts(mirrored: Mirrored) -> None:
    mirrored(a_quota({"gpu.cozystack.io/l40s": "4"}), a_claim("one", gpus=2), a_claim("two", releasing=True))

    line = lines()["l40s"]
    assert (line.used, line.releasing, line.left) == (3, 1, 1)


def test_a_sub_tenant_draws_on_the_pool_above(mirrored: Mirrored) -> None:
    mirrored(
        a_namespace("tenant-acme-lab", ancestors=["tenant-acme"]),
        a_namespace("tenant-acme-own", ancestors=["tenant-acme"]),
        a_quota({"gpu.cozystack.io/l40s": "8"}),
        a_quota({"gpu.cozystack.io/l40s": "2"}, namespace="tenant-acme-own"),
        a_claim("one", gpus=2),
        a_claim("one", gpus=1, namespace="tenant-acme-lab"),
        a_claim("one", gpus=1, namespace="tenant-acme-own"),
        a_claim("one", gpus=9, namespace="tenant-globex"),
    )

    lab, own, acme = (lines(name)["l40s"] for name in ("tenant-acme-lab", "tenant-acme-own", "tenant-acme"))
    assert (lab.used, lab.held_here, lab.limit, lab.pool) == (3, 1, 6, "tenant-acme")
    assert (own.used, own.held_here, own.limit, own.pool) == (1, 1, 2, "tenant-acme-own")
    assert (acme.used, acme.held_here, acme.limit) == (3, 2, 6)


def test_a_line_is_called_what_the_offer_is_called(mirrored: Mirrored) -> None:
    mirrored(a_class("l40s", display_name="L40S 48 GB"), a_quota({"gpu.cozystack.io/l40s": "4"}))

    assert [line.title for line in budget_of("tenant-acme")] == ["All offers", "L40S 48 GB"]
