"""Who may see and press what."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404
from pytest_django import DjangoAssertNumQueries

from portal.access import Right, access_from, access_of, check_tenant, parse_group
from portal.login import LocalUserBackend
from portal.models import ClaimRecord, NamespaceRecord, User
from tests.builders import a_claim, a_namespace
from tests.portal.mirrored import show

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("tenant-foo-view", ("tenant-foo", Right.VIEW)),
        ("tenant-foo-use", ("tenant-foo", Right.USE)),
        ("tenant-foo-admin", ("tenant-foo", Right.ADMIN)),
        ("tenant-foo-super-admin", ("tenant-foo", Right.ADMIN)),
        ("tenant-foo-bar-admin", ("tenant-foo-bar", Right.ADMIN)),
        ("tenant-admin-view", ("tenant-admin", Right.VIEW)),
        ("tenant-super-admin", ("tenant", Right.ADMIN)),
        ("-view", None),
        ("view", None),
        ("tenant-foo", None),
        ("tenant-foo-viewer", None),
        ("", None),
    ],
)
def test_a_group_is_read_from_the_right(group: str, expected: tuple[str, Right] | None) -> None:
    assert parse_group(group) == expected


def tree() -> None:
    show(
        a_namespace("tenant-root"),
        a_namespace("tenant-acme", ancestors=["tenant-root"]),
        a_namespace("tenant-acme-lab", ancestors=["tenant-root", "tenant-acme"]),
        a_namespace("tenant-globex", ancestors=["tenant-root"]),
    )


def test_a_right_reaches_down_to_sub_tenants_and_never_up() -> None:
    tree()

    access = access_from("alice", ["tenant-acme-use"])

    assert access.tenants() == ["tenant-acme", "tenant-acme-lab"]
    assert access.can_order("tenant-acme-lab")
    assert not access.can_view("tenant-root")
    assert access_from("lab", ["tenant-acme-lab-admin"]).tenants() == ["tenant-acme-lab"]


def test_the_strongest_right_counts_whichever_group_gives_it() -> None:
    tree()

    access = access_from("alice", ["tenant-acme-lab-view", "tenant-acme-admin", "tenant-root-view"])

    assert access.right_in("tenant-acme-lab") is Right.ADMIN
    assert access.right_in("tenant-globex") is Right.VIEW
    assert not access.can_order("tenant-globex")


def test_a_namespace_without_labels_stands_alone() -> None:
    show(a_namespace("team-a"), a_namespace("team-a-b"))

    access = access_from("ann", ["team-a-use"])

    assert access.tenants() == ["team-a"]


def test_the_hoster_may_do_everything_in_every_tenant_there_is() -> None:
    tree()

    access = access_from("hoster", ["cozystack-cluster-admin"])

    assert access.is_hoster
    assert "tenant-globex" in access.tenants()
    check_tenant(access, "tenant-globex", Right.ADMIN)
    with pytest.raises(Http404):
        check_tenant(access, "no-such-namespace", Right.VIEW)


def test_a_stranger_gets_404_and_a_viewer_who_orders_403(bob: User, charlie: User) -> None:
    tree()

    with pytest.raises(Http404):
        check_tenant(access_of(charlie), "tenant-acme", Right.VIEW)
    with pytest.raises(PermissionDenied):
        check_tenant(access_of(bob), "tenant-acme", Right.USE)
    check_tenant(access_of(bob), "tenant-acme", Right.VIEW)


def test_nobody_may_nothing() -> None:
    access = access_of(AnonymousUser())

    assert access.tenants() == []
    assert not access.can_view("tenant-acme")


def test_claims_of_other_tenants_are_not_in_the_query(alice: User, charlie: User, hoster: User) -> None:
    tree()
    show(a_claim("one", namespace="tenant-acme"), a_claim("two", namespace="tenant-acme-lab"))

    def seen(user: User) -> list[str]:
        return [str(claim) for claim in ClaimRecord.objects.visible_to(access_of(user)).in_order()]

    assert seen(alice) == ["tenant-acme/one", "tenant-acme-lab/two"]
    assert seen(charlie) == []
    assert seen(hoster) == ["tenant-acme/one", "tenant-acme-lab/two"]
    assert [n.name for n in NamespaceRecord.objects.visible_to(access_of(charlie))] == ["tenant-globex"]


def test_a_user_is_loaded_with_the_groups_in_one_query(
    alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        user = LocalUserBackend().get_user(alice.pk)
        assert user is not None
        assert user.group_names == ("tenant-acme-use",)
