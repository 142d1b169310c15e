"""Contract: who gets in, who may do what, and acting as another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NODES
from tests.kube.orders import a_claim
from tests.kube.rights import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, binding, rule
from tests.kube.wire import Wire

REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture
def users(wire: Wire, namespace: str, name: str) -> Wire:
    """In the test's namespace the group <name>-use may order and read; the answer is such a user."""
    rules = [rule(["get", "list", "watch", "create", "delete"], ["gpuclaims"])]
    wire.create(ROLES, {"metadata": {"name": "use"}, "rules": rules}, namespace=namespace)
    wire.create(ROLE_BINDINGS, binding("use", "Role", "use", ("Group", f"{name}-use")), namespace=namespace)
    alice = wire.as_user("alice", [f"{name}-use", "another"])
    while alice.page(GPU_CLAIMS, namespace=namespace).code != 200:
        """A real API server takes roles up a moment after they were written."""
    return alice


@pytest.fixture
def cluster_role(wire: Wire, name: str) -> Iterator[str]:
    """A ClusterRole that is made up of those that carry a label, bound to the user <name>."""
    selector = {"matchLabels": {f"{name}.example.com/aggregate": "true"}}
    role = {
        "metadata": {"name": name},
        "aggregationRule": {"clusterRoleSelectors": [selector]},
        "rules": [],
    }
    wire.create(CLUSTER_ROLES, role)
    wire.create(CLUSTER_ROLE_BINDINGS, binding(name, "ClusterRole", name, ("User", name)))
    yield name
    wire.delete(CLUSTER_ROLE_BINDINGS, name)
    wire.delete(CLUSTER_ROLES, name)


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Basic YWxpY2U6ZGVtbw==", "Bearer "])
def test_nobody_gets_in_without_a_valid_token(wire: Wire, authorization: str | None) -> None:
    answer = wire.with_authorization(authorization).page(GPU_CLASSES)

    # A real server that lets anonymous users in forbids what the dev server does not even look at.
    assert answer.code in (401, 403)
    assert answer.json["kind"] == "Status"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
def test_health_and_version_are_open(wire: Wire, path: str) -> None:
    assert wire.with_authorization(None).send("GET", path).code == 200


def test_a_group_may_do_what_its_role_says(users: Wire, namespace: str) -> None:
    assert users.create(GPU_CLAIMS, a_claim("one"), namespace=namespace).code == 201
    assert users.get(GPU_CLAIMS, "one", namespace=namespace).code == 200
    assert users.delete(GPU_CLAIMS, "one", namespace=namespace).code == 200


def test_nothing_else_is_allowed_and_the_refusal_names_it(users: Wire, namespace: str) -> None:
    patched = users.patch(GPU_CLAIMS, "one", {}, namespace=namespace)
    status = users.patch(GPU_CLAIMS, "one", {}, namespace=namespace, subresource="status")
    everywhere = users.page(GPU_CLAIMS)

    assert [answer.code for answer in (patched, status, everywhere)] == [403, 403, 403]
    assert patched.json["reason"] == "Forbidden"
    assert patched.json["message"] == (
        'gpuclaims.gpu.cozystack.io "one" is forbidden: User "alice" cannot patch resource "gpuclaims" '
        f'in API group "gpu.cozystack.io" in the namespace "{namespace}"'
    )
    assert 'resource "gpuclaims/status"' in status.json["message"]
    assert everywhere.json["message"].endswith('in API group "gpu.cozystack.io" at the cluster scope')


def test_a_stranger_reads_neither_claims_nor_nodes(wire: Wire, namespace: str) -> None:
    charlie = wire.as_user("charlie", ["strangers"])

    assert charlie.page(GPU_CLAIMS, namespace=namespace).code == 403
    assert charlie.page(NODES).code == 403


def test_masters_may_everything(wire: Wire) -> None:
    assert wire.as_user("root", ["system:masters"]).page(NODES).code == 200


def test_an_aggregated_role_has_the_rules_of_the_labelled_ones(wire: Wire, cluster_role: str) -> None:
    user = wire.as_user(cluster_role)
    assert user.page(GPU_CLASSES).code == 403

    part = {
        "metadata": {
            "name": f"{cluster_role}-part",
            "labels": {f"{cluster_role}.example.com/aggregate": "true"},
        },
        "rules": [rule(["list"], ["gpuclasses"])],
    }
    wire.create(CLUSTER_ROLES, part)
    while (answer := user.page(GPU_CLASSES)).code == 403:
        """In a real cluster another process puts them together."""
    wire.delete(CLUSTER_ROLES, f"{cluster_role}-part")

    assert answer.code == 200


@pytest.fixture
def of_one_name(wire: Wire, namespace: str, name: str) -> Wire:
    """A user who may get and list the claim "mine" of the test's namespace, which has another."""
    rules = [rule(["get", "list"], ["gpuclaims"], resourceNames=["mine"])]
    wire.create(ROLES, {"metadata": {"name": "one"}, "rules": rules}, namespace=namespace)
    wire.create(ROLE_BINDINGS, binding("one", "Role", "one", ("User", name)), namespace=namespace)
    for claim in ("mine", "other"):
        wire.create(GPU_CLAIMS, a_claim(claim), namespace=namespace)
    user = wire.as_user(name)
    while user.get(GPU_CLAIMS, "mine", namespace=namespace).code != 200:
        """A real API server takes roles up a moment after they were written."""
    return user


def test_a_rule_for_one_name_allows_that_name_only(of_one_name: Wire, namespace: str) -> None:
    assert of_one_name.get(GPU_CLAIMS, "other", namespace=namespace).code == 403
    assert of_one_name.page(GPU_CLAIMS, namespace=namespace).code == 403


@pytest.mark.parametrize(
    ("selector", "listed"),
    [
        ("metadata.name=mine", ["mine"]),
        ("metadata.name==mine", ["mine"]),
        ("spec.className=l40s,metadata.name=mine", ["mine"]),
        ("spec.className!=l40s,metadata.name=mine", []),
        ("metadata.name=other,metadata.name=mine", []),
    ],
)
def test_a_list_of_one_name_is_allowed_by_a_rule_for_it(
    of_one_name: Wire, namespace: str, selector: str, listed: list[str]
) -> None:
    assert of_one_name.names(GPU_CLAIMS, namespace=namespace, fieldSelector=selector) == listed


@pytest.mark.parametrize(
    "selector",
    [
        "metadata.name!=x(,metadata.name=mine,y)",
        "metadata.name!=x(,metadata.name!=y)",
        "metadata.name!=mine",
        "metadata.name!=x\\,metadata.name=mine",
        "spec.className=metadata.name=mine",
        " metadata.name=mine",
        "metadata.name= mine",
        "metadata.name=mine,nonsense",
    ],
)
def test_a_list_of_more_than_one_name_is_not_allowed_by_a_rule_for_one(
    of_one_name: Wire, namespace: str, selector: str
) -> None:
    assert of_one_name.page(GPU_CLAIMS, namespace=namespace, fieldSelector=selector).code == 403


def test_impersonation_is_a_right_of_its_own(users: Wire, namespace: str) -> None:
    def as_alice_as(wire: Wire, *headers: tuple[str, str]) -> int:
        return (
            Wire(wire.url, wire.pool, wire.authorization, headers).page(GPU_CLAIMS, namespace=namespace).code
        )

    groups_alone = as_alice_as(users, ("Impersonate-Group", "system:masters"))

    assert groups_alone >= 400


def test_a_user_may_ask_what_they_may(users: Wire, wire: Wire, namespace: str) -> None:
    def allowed(verb: str, user: Wire) -> bool:
        attributes = {
            "verb": verb,
            "group": "gpu.cozystack.io",
            "resource": "gpuclaims",
            "namespace": namespace,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = user.send("POST", REVIEWS, review)
        assert answer.code == 201
        return bool(answer.json["status"]["allowed"])

    assert allowed("create", users) is True
    assert allowed("patch", users) is False
    assert allowed("patch", wire) is True
