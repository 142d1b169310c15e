"""Contract: nobody grants what they do not hold themselves, and a binding keeps its role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kube.rights import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    RBAC,
    ROLE_BINDINGS,
    ROLES,
    binding,
    role,
    rule,
)
from tests.kube.wire import APPLY, Answer, Wire

CHANGE = ["create", "get", "list", "patch", "update"]
HELD = rule(["get", "list"], ["gpuclaims"])
WIDE = rule(["delete", "get"], ["gpuclaims"])
WITHOUT = '{APIGroups:["gpu.cozystack.io"], Resources:["gpuclaims"], Verbs:["delete"]}'
SUBJECT = ("User", "carol")


@pytest.fixture
def builder(wire: Wire, namespace: str, name: str) -> Wire:
    """A user who may write roles and bindings of the test's namespace, and holds little else there.

    The role "own" they may widen, and bind the cluster role "view".
    """
    rules = [
        HELD,
        rule(CHANGE, ["roles", "rolebindings"], RBAC),
        rule(["escalate"], ["roles"], RBAC, resourceNames=["own"]),
        rule(["bind"], ["clusterroles"], RBAC, resourceNames=["view"]),
        rule(["get"], ["*/status"]),
    ]
    wire.create(ROLES, role("wide", WIDE), namespace=namespace)
    wire.create(ROLES, role("own", HELD), namespace=namespace)
    wire.create(ROLES, role("builder", *rules), namespace=namespace)
    wire.create(ROLE_BINDINGS, binding("builder", "Role", "builder", ("User", name)), namespace=namespace)
    user = wire.as_user(name, ["builders"])
    while user.page(ROLES, namespace=namespace).code != 200:
        """A real API server takes roles up a moment after they were written."""
    return user


@pytest.fixture
def cluster_builder(wire: Wire, name: str) -> Iterator[Wire]:
    """A user who may write cluster roles and their bindings, and holds little else."""
    rules = [HELD, rule(CHANGE, ["clusterroles", "clusterrolebindings"], RBAC)]
    wire.create(CLUSTER_ROLES, role(name, *rules))
    wire.create(CLUSTER_ROLE_BINDINGS, binding(name, "ClusterRole", name, ("User", name)))
    user = wire.as_user(name, ["builders"])
    while user.page(CLUSTER_ROLES).code != 200:
        """A real API server takes roles up a moment after they were written."""
    yield user
    wire.delete(CLUSTER_ROLE_BINDINGS, name)
    wire.delete(CLUSTER_ROLES, name)


def refusal(kind: str, name: str, user: str, *missing: str) -> str:
    return (
        f'{kind}.{RBAC} "{name}" is forbidden: user "{user}" (groups=["builders" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n" + "\n".join(missing)
    )


@pytest.mark.parametrize(
    "granted",
    [
        HELD,
        rule(["get"], ["gpuclaims"], resourceNames=["mine"]),
        rule(["get"], ["gpuclasses/status", "gpuclaims"]),
        rule(["patch"], ["roles"], RBAC),
    ],
)
def test_what_is_held_may_be_granted(builder: Wire, namespace: str, granted: dict[str, Any]) -> None:
    assert builder.create(ROLES, role("new", granted), namespace=namespace).code == 201


@pytest.mark.parametrize(
    ("granted", "missing"),
    [
        ([WIDE], [WITHOUT]),
        (
            [rule(["*"], ["gpuclaims"])],
            ['{APIGroups:["gpu.cozystack.io"], Resources:["gpuclaims"], Verbs:["*"]}'],
        ),
        (
            [rule(["get", "list"], ["*", "gpuclaims/scale"]), rule(["list"], ["gpuclasses/status"])],
            [
                '{APIGroups:["gpu.cozystack.io"], Resources:["*"], Verbs:["get" "list"]}',
                '{APIGroups:["gpu.cozystack.io"], Resources:["gpuclaims/scale"], Verbs:["get" "list"]}',
                '{APIGroups:["gpu.cozystack.io"], Resources:["gpuclasses/status"], Verbs:["list"]}',
            ],
        ),
        (
            [rule(["delete", "get"], ["gpuclaims"], resourceNames=["a", "b"]), rule(["get"], ["pods"], "")],
            [
                '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
                '{APIGroups:["gpu.cozystack.io"], Resources:["gpuclaims"], ResourceNames:["a"], Verbs:["delete"]}',
                '{APIGroups:["gpu.cozystack.io"], Resources:["gpuclaims"], ResourceNames:["b"], Verbs:["delete"]}',
            ],
        ),
        (
            [rule(["escalate"], ["roles"], RBAC)],
            [f'{{APIGroups:["{RBAC}"], Resources:["roles"], Verbs:["escalate"]}}'],
        ),
    ],
)
def test_what_is_not_held_cannot_be_granted_and_is_told(
    builder: Wire, namespace: str, name: str, granted: list[dict[str, Any]], missing: list[str]
) -> None:
    refused = builder.create(ROLES, role("new", *granted), namespace=namespace)

    assert refused.code == 403
    assert refused.json["reason"] == "Forbidden"
    assert refused.json["message"] == refusal("roles", "new", name, *missing)


def test_a_role_cannot_be_widened_by_any_way_of_writing(builder: Wire, namespace: str, name: str) -> None:
    assert builder.create(ROLES, role("new", HELD), namespace=namespace).code == 201
    full = {"apiVersion": ROLES.api_version, "kind": "Role", **role("new", WIDE)}
    where = {"namespace": namespace}

    answers = [
        builder.put(ROLES, role("new", WIDE), **where),
        builder.patch(ROLES, "new", {"rules": [WIDE]}, **where),
        builder.patch(ROLES, "new", full, content_type=APPLY, fieldManager="test", force="true", **where),
        builder.put(ROLES, role("new", WIDE), namespace=namespace, dryRun="All"),
    ]

    assert [answer.code for answer in answers] == [403] * 4
    assert {answer.json["message"] for answer in answers} == {refusal("roles", "new", name, WITHOUT)}


def test_a_wider_role_keeps_all_but_what_holds_it(builder: Wire, namespace: str) -> None:
    def patched(**metadata: Any) -> int:
        return builder.patch(ROLES, "wide", {"metadata": metadata}, namespace=namespace).code

    assert patched(labels={"a": "b"}) == 403
    assert patched(finalizers=["example.com/hold"]) == 200
    assert patched(finalizers=None) == 200
    assert builder.patch(ROLES, "wide", {"rules": [HELD]}, namespace=namespace).code == 200


def test_the_right_to_escalate_is_a_right_to_any_rule(builder: Wire, namespace: str) -> None:
    named = builder.patch(ROLES, "own", {"rules": [WIDE]}, namespace=namespace)
    another = builder.patch(ROLES, "wide", {"rules": [WIDE, HELD]}, namespace=namespace)

    assert (named.code, another.code) == (200, 403)


def bind(user: Wire, namespace: str, kind: str, name: str) -> Answer:
    return user.create(ROLE_BINDINGS, binding("new", kind, name, SUBJECT), namespace=namespace)


def test_a_role_can_be_bound_by_who_holds_its_rules(builder: Wire, namespace: str, name: str) -> None:
    wide = bind(builder, namespace, "Role", "wide")
    held = bind(builder, namespace, "Role", "own")

    assert (wide.code, held.code) == (403, 201)
    assert wide.json["message"] == refusal("rolebindings", "new", name, WITHOUT)


def test_a_role_that_is_missing_can_be_bound_by_nobody_but_masters(
    wire: Wire, builder: Wire, namespace: str
) -> None:
    missing = bind(builder, namespace, "Role", "none"), bind(builder, namespace, "ClusterRole", "none")

    assert [answer.code for answer in missing] == [404, 404]
    assert {answer.json["message"] for answer in missing} == {f'rolebindings.{RBAC} "none" not found'}
    assert bind(wire, namespace, "Role", "none").code == 201


def test_the_right_to_bind_a_role_is_as_good_as_its_rules(builder: Wire, namespace: str) -> None:
    another = bind(builder, namespace, "ClusterRole", "cluster-admin")
    named = bind(builder, namespace, "ClusterRole", "view")

    assert (another.code, named.code) == (403, 201)


def test_a_binding_to_a_wider_role_gets_no_new_subjects(wire: Wire, builder: Wire, namespace: str) -> None:
    assert bind(wire, namespace, "Role", "wide").code == 201
    more = binding("new", "Role", "wide", SUBJECT, ("User", "mallory"))

    refused = builder.patch(ROLE_BINDINGS, "new", {"subjects": more["subjects"]}, namespace=namespace)

    assert refused.code == 403


@pytest.mark.parametrize(
    ("granted", "missing"),
    [
        ({"nonResourceURLs": ["/api/v1"], "verbs": ["get"]}, None),
        (
            {"nonResourceURLs": ["/metrics", "/api/*"], "verbs": ["get", "post"]},
            [
                '{NonResourceURLs:["/api/*"], Verbs:["post"]}',
                '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
                '{NonResourceURLs:["/metrics"], Verbs:["post"]}',
            ],
        ),
        (HELD, None),
        (WIDE, [WITHOUT]),
    ],
)
def test_a_cluster_role_grants_what_its_writer_holds_everywhere(
    cluster_builder: Wire, name: str, granted: dict[str, Any], missing: list[str] | None
) -> None:
    answer = cluster_builder.create(CLUSTER_ROLES, role(f"{name}-new", granted), dryRun="All")

    assert answer.code == (403 if missing else 201)
    if missing:
        assert answer.json["message"] == refusal("clusterroles", f"{name}-new", name, *missing)


def test_only_who_may_everything_lets_a_role_be_made_up_of_others(
    wire: Wire, cluster_builder: Wire, name: str
) -> None:
    selector = {"matchLabels": {f"{name}.example.com/aggregate": "true"}}
    aggregated = role(f"{name}-new") | {"aggregationRule": {"clusterRoleSelectors": [selector]}}

    refused = cluster_builder.create(CLUSTER_ROLES, aggregated, dryRun="All")

    assert refused.code == 403
    assert refused.json["message"] == (
        f'clusterroles.{RBAC} "{name}-new" is forbidden: must have cluster-admin privileges to use the aggregationRule'
    )
    assert wire.create(CLUSTER_ROLES, aggregated, dryRun="All").code == 201


def test_a_cluster_role_is_bound_by_who_holds_its_rules_everywhere(cluster_builder: Wire, name: str) -> None:
    own = binding(f"{name}-new", "ClusterRole", name, SUBJECT)
    admin = binding(f"{name}-new", "ClusterRole", "cluster-admin", ("User", name))

    assert cluster_builder.create(CLUSTER_ROLE_BINDINGS, own, dryRun="All").code == 201
    refused = cluster_builder.create(CLUSTER_ROLE_BINDINGS, admin, dryRun="All")
    assert refused.code == 403
    assert refused.json["message"] == refusal(
        "clusterrolebindings",
        f"{name}-new",
        name,
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
        '{NonResourceURLs:["*"], Verbs:["*"]}',
    )


def test_who_has_the_role_cluster_admin_may_grant_anything(wire: Wire, name: str, namespace: str) -> None:
    wire.create(CLUSTER_ROLE_BINDINGS, binding(name, "ClusterRole", "cluster-admin", ("User", name)))
    user = wire.as_user(name)
    while user.page(ROLES).code != 200:
        """A real API server takes roles up a moment after they were written."""

    codes = [
        user.create(ROLES, role("new", WIDE), namespace=namespace).code,
        bind(user, namespace, "ClusterRole", "cluster-admin").code,
    ]
    wire.delete(CLUSTER_ROLE_BINDINGS, name)

    assert codes == [201, 201]


def test_a_binding_keeps_its_role(wire: Wire, namespace: str) -> None:
    assert bind(wire, namespace, "Role", "one").code == 201

    refused = wire.patch(ROLE_BINDINGS, "new", {"roleRef": {"name": "two"}}, namespace=namespace)
    other = {"subjects": [], "roleRef": {"name": "one"}}

    assert refused.code == 422
    reference = f'{{"APIGroup":"{RBAC}","Kind":"Role","Name":"two"}}'
    assert refused.causes == [
        ("FieldValueInvalid", "roleRef", f"Invalid value: {reference}: cannot change roleRef")
    ]
    assert wire.patch(ROLE_BINDINGS, "new", other, namespace=namespace).code == 200


def test_what_is_bound_is_a_role(wire: Wire, namespace: str, name: str) -> None:
    here = bind(wire, namespace, "Group", "one")
    everywhere = wire.create(CLUSTER_ROLE_BINDINGS, binding(name, "Role", "one", SUBJECT), dryRun="All")

    told = 'Unsupported value: "{}": supported values: {}'
    assert here.causes == [
        ("FieldValueNotSupported", "roleRef.kind", told.format("Group", '"Role", "ClusterRole"'))
    ]
    assert everywhere.causes == [
        ("FieldValueNotSupported", "roleRef.kind", told.format("Role", '"ClusterRole"'))
    ]
