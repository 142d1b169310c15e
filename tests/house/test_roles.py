"""The shipped roles give what design and docs say, and the demo's roles are what aggregation would make of them."""

from __future__ import annotations

from typing import Any

import pytest

from tools import manifests
from tools.demo import DEPLOY
from tools.run.stack import DEMO_LOGINS

LEVELS = ("view", "use", "admin", "super-admin")
SHIPPED = [body for _, body in manifests.read(DEPLOY / "rbac")]
DEMO = [body for _, body in manifests.read(DEPLOY / "demo")]


def named(bodies: list[dict[str, Any]], kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
    (found,) = (
        body
        for body in bodies
        if body["kind"] == kind
        and body["metadata"]["name"] == name
        and body["metadata"].get("namespace") == namespace
    )
    return found


def rights(role: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (resource, verb)
        for rule in role["rules"]
        for resource in rule.get("resources", [])
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("level", LEVELS)
def test_the_demo_writes_out_what_aggregation_would_collect(level: str) -> None:
    role = named(DEMO, "ClusterRole", f"cozy:tenant:{level}")
    (selector,) = role["aggregationRule"]["clusterRoleSelectors"]
    wanted = selector["matchLabels"].items()

    collected = [
        body
        for body in SHIPPED
        if body["kind"] == "ClusterRole" and wanted <= body["metadata"].get("labels", {}).items()
    ]

    assert rights(role) == {right for body in collected for right in rights(body)}


def test_viewers_only_look_and_users_order_and_release() -> None:
    assert ("gpuclaims", "create") not in rights(named(DEMO, "ClusterRole", "cozy:tenant:view"))
    assert {("gpuclaims", "create"), ("gpuclaims", "delete")} <= rights(
        named(DEMO, "ClusterRole", "cozy:tenant:use")
    )


@pytest.mark.parametrize("level", LEVELS)
def test_no_tenant_may_touch_a_finalizer_or_see_a_node(level: str) -> None:
    role = rights(named(DEMO, "ClusterRole", f"cozy:tenant:{level}"))

    assert not {(resource, verb) for resource, verb in role if verb in {"update", "patch", "*"}}
    assert not {resource for resource, _ in role} & {"nodes", "gpunodes", "pods"}


def test_a_right_reaches_the_sub_tenants_and_never_the_parent() -> None:
    def groups(namespace: str, level: str) -> set[str]:
        binding = named(DEMO, "RoleBinding", f"cozy:tenant:{level}", namespace)
        return {subject["name"] for subject in binding["subjects"]}

    assert "tenant-acme-use" in groups("tenant-acme-lab", "use")
    assert "tenant-acme-admin" in groups("tenant-acme-lab", "view")
    assert "tenant-acme-lab-admin" not in groups("tenant-acme", "view")
    assert "tenant-acme-view" not in groups("tenant-acme", "use")


def test_the_portal_writes_nothing_as_itself_and_impersonates_named_users_and_groups_only() -> None:
    assert {verb for _, verb in rights(named(SHIPPED, "ClusterRole", "gpu-portal"))} == {
        "list",
        "watch",
    }

    for rule in named(SHIPPED, "ClusterRole", "gpu-portal:impersonation")["rules"]:
        assert rule["verbs"] == ["impersonate"]
        assert rule["resourceNames"]
        assert "system:masters" not in rule["resourceNames"]


def test_every_demo_user_may_be_impersonated() -> None:
    users, _ = named(SHIPPED, "ClusterRole", "gpu-portal:impersonation")["rules"]

    assert set(users["resourceNames"]) == set(DEMO_LOGINS)
