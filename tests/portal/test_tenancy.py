"""What a process remembers of the tenant tree is never older than the rows."""

from __future__ import annotations

import msgspec
import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from gpu.corekinds import ResourceQuota
from kube.kinds import NAMESPACES, RESOURCE_QUOTAS
from portal import mirror
from portal.tenancy import budget_quotas, tree
from tests.builders import a_namespace, a_quota
from tests.portal.mirrored import at_version, show

pytestmark = pytest.mark.django_db


def limits() -> list[str | int]:
    return [quota.spec.hard["gpu.cozystack.io/total"] for quota in budget_quotas().get("tenant-acme", ())]


def test_it_is_read_once_for_many_requests(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    show(a_namespace("tenant-acme"), a_quota({"gpu.cozystack.io/total": "4"}))
    tree(), budget_quotas()

    with django_assert_num_queries(1):
        tree()
    with django_assert_num_queries(1):
        budget_quotas()


def test_every_change_of_the_tree_is_seen_at_once() -> None:
    show(a_namespace("tenant-acme"))
    assert tree().below == {}

    show(a_namespace("tenant-acme-lab", ancestors=["tenant-acme"]))
    assert tree().below == {"tenant-acme": ("tenant-acme-lab",)}

    show(at_version(a_namespace("tenant-acme-lab"), 2))
    assert tree().below == {}
    assert tree().tenants == ("tenant-acme", "tenant-acme-lab")

    mirror.delete(NAMESPACES, None, "tenant-acme-lab")
    assert tree().tenants == ("tenant-acme",)


def test_every_change_of_a_limit_is_seen_at_once() -> None:
    show(at_version(a_quota({"gpu.cozystack.io/total": "4"}), 1))
    assert limits() == ["4"]

    show(at_version(a_quota({"gpu.cozystack.io/total": "5"}), 2))
    assert limits() == ["5"]

    mirror.delete(RESOURCE_QUOTAS, "tenant-acme", "tenant-quota")
    assert limits() == []


def test_what_is_used_of_a_quota_is_no_reason_to_read_it_again(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    quota = a_quota({"gpu.cozystack.io/total": "4"})
    show(at_version(quota, 1))
    budget_quotas()

    show(at_version(with_used(quota, "3"), 2))

    with django_assert_num_queries(1):
        budget_quotas()


def test_what_was_rolled_back_is_not_remembered() -> None:
    show(a_namespace("tenant-acme"))
    tree()

    with transaction.atomic():
        show(a_namespace("tenant-globex"))
        assert "tenant-globex" in tree().above
        transaction.set_rollback(True)

    assert "tenant-globex" not in tree().above
    show(a_namespace("tenant-initech"))
    assert tree().tenants == ("tenant-acme", "tenant-initech")


def with_used(quota: ResourceQuota, units: str) -> ResourceQuota:
    status = msgspec.structs.replace(quota.status, used={"gpu.cozystack.io/total": units})
    return msgspec.structs.replace(quota, status=status)
