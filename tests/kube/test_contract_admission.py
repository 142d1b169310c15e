"""Contract: validating admission webhooks, and how a denial reaches the client."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kube.kinds import GPU_CLAIMS, WEBHOOKS
from tests.kube.orders import a_claim
from tests.kube.reviewers import Reviewer, running_reviewer
from tests.kube.wire import Wire

RULE = {
    "apiGroups": ["gpu.cozystack.io"],
    "apiVersions": ["v1alpha1"],
    "resources": ["gpuclaims"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
}


@pytest.fixture
def reviewer(wire: Wire, name: str, namespace: str, tmp_path: Path) -> Iterator[Reviewer]:
    """A webhook that is asked about the claims of the test's namespace only, and is known to be asked."""
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    with running_reviewer(tmp_path) as running:
        configuration = running.configuration(name, RULE, namespaceSelector=only_here)
        assert wire.create(WEBHOOKS, configuration).code == 201
        # A real API server takes a configuration up a moment after it was written.
        while not running.asked:
            wire.create(GPU_CLAIMS, a_claim("probe"), namespace=namespace, dryRun="All")
        running.asked.clear()
        yield running
        wire.delete(WEBHOOKS, name)


def refuse_all(review: dict[str, Any]) -> dict[str, Any]:
    cause = {"reason": "NoNodeFits", "field": "spec.count", "message": '{"asked":4}'}
    status = {
        "code": 409,
        "reason": "NoNodeFits",
        "message": "You ask for 4.",
        "details": {"causes": [cause], "retryAfterSeconds": 3},
    }
    return {"allowed": False, "status": status}


def test_a_webhook_is_asked_with_the_uid_and_the_name_it_will_have(
    wire: Wire, reviewer: Reviewer, namespace: str
) -> None:
    body = {"metadata": {"generateName": "order-"}, "spec": {"className": "l40s"}}

    created = wire.create(GPU_CLAIMS, body, namespace=namespace).json

    (review,) = reviewer.asked
    assert review["operation"] == "CREATE"
    assert review["namespace"] == namespace
    assert review["dryRun"] is False
    assert review["oldObject"] is None
    assert review["object"]["metadata"]["uid"] == created["metadata"]["uid"]
    assert review["object"]["metadata"]["name"] == created["metadata"]["name"]
    assert review["object"]["spec"]["count"] == 1
    assert review["kind"] == {"group": "gpu.cozystack.io", "version": "v1alpha1", "kind": "GPUClaim"}
    assert review["resource"] == {"group": "gpu.cozystack.io", "version": "v1alpha1", "resource": "gpuclaims"}


def test_a_webhook_is_told_of_a_dry_run(wire: Wire, reviewer: Reviewer, namespace: str) -> None:
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace, dryRun="All")

    assert [review["dryRun"] for review in reviewer.asked] == [True]


def test_a_webhook_knows_who_acts(wire: Wire, reviewer: Reviewer, namespace: str) -> None:
    wire.as_user("alice", ["system:masters"]).create(GPU_CLAIMS, a_claim("one"), namespace=namespace)

    user = reviewer.asked[0]["userInfo"]
    assert user["username"] == "alice"
    assert set(user["groups"]) == {"system:masters", "system:authenticated"}


def test_a_denial_arrives_whole(wire: Wire, reviewer: Reviewer, namespace: str, name: str) -> None:
    reviewer.verdict = refuse_all

    refused = wire.create(GPU_CLAIMS, a_claim("one", count=4), namespace=namespace)

    assert refused.code == 409
    assert refused.json["reason"] == "NoNodeFits"
    assert (
        refused.json["message"]
        == f'admission webhook "{name}.example.com" denied the request: You ask for 4.'
    )
    assert refused.causes == [("NoNodeFits", "spec.count", '{"asked":4}')]
    assert refused.json["details"]["retryAfterSeconds"] == 3
    assert refused.headers["retry-after"] == "3"
    assert wire.get(GPU_CLAIMS, "one", namespace=namespace).code == 404


def test_a_denial_without_a_code_is_a_bad_request(wire: Wire, reviewer: Reviewer, namespace: str) -> None:
    reviewer.verdict = lambda review: {"allowed": False}

    refused = wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)

    assert refused.code == 400
    assert refused.json["message"].endswith("denied the request without explanation")


def test_warnings_of_a_webhook_reach_the_client(wire: Wire, reviewer: Reviewer, namespace: str) -> None:
    reviewer.verdict = lambda review: {"allowed": True, "warnings": ["mind the gap"]}

    created = wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)

    assert created.headers["warning"] == '299 - "mind the gap"'


def test_an_invalid_object_is_refused_before_the_webhook_is_asked(
    wire: Wire, reviewer: Reviewer, namespace: str
) -> None:
    assert wire.create(GPU_CLAIMS, a_claim("one", count=0), namespace=namespace).code == 422
    assert reviewer.asked == []


def test_a_status_write_is_no_business_of_a_rule_for_the_object(
    wire: Wire, reviewer: Reviewer, namespace: str
) -> None:
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
    reviewer.asked.clear()

    bound = {"status": {"nodeName": "n1"}}
    answer = wire.patch(GPU_CLAIMS, "one", bound, namespace=namespace, subresource="status")

    assert answer.code == 200
    assert reviewer.asked == []


def test_an_update_and_a_delete_are_asked_about_with_the_old_object(
    wire: Wire, reviewer: Reviewer, namespace: str
) -> None:
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
    wire.patch(GPU_CLAIMS, "one", {"metadata": {"labels": {"a": "b"}}}, namespace=namespace)
    wire.delete(GPU_CLAIMS, "one", namespace=namespace)

    _, update, delete = reviewer.asked
    assert update["operation"] == "UPDATE"
    assert "labels" not in update["oldObject"]["metadata"]
    assert update["object"]["metadata"]["labels"] == {"a": "b"}
    assert delete["operation"] == "DELETE"
    assert delete["object"] is None
    assert delete["oldObject"]["metadata"]["name"] == "one"


@pytest.fixture
def nobody_listens() -> str:
    """The URL of a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"https://127.0.0.1:{probe.getsockname()[1]}/review"


@pytest.mark.parametrize(("policy", "code"), [("Fail", 500), ("Ignore", 201)])
def test_a_webhook_that_does_not_answer_stops_the_write_where_its_policy_says_so(
    wire: Wire, reviewer: Reviewer, namespace: str, name: str, nobody_listens: str, policy: str, code: int
) -> None:
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    dead = reviewer.configuration(
        f"{name}-dead", RULE, failurePolicy=policy, namespaceSelector=only_here, timeoutSeconds=1
    )
    dead["webhooks"][0]["clientConfig"]["url"] = nobody_listens
    wire.create(WEBHOOKS, dead)
    while policy == "Fail":
        probe = wire.create(GPU_CLAIMS, a_claim("probe"), namespace=namespace, dryRun="All")
        if probe.code == code:
            break

    answer = wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
    wire.delete(WEBHOOKS, f"{name}-dead")

    assert answer.code == code
    if code == 500:
        assert answer.json["reason"] == "InternalError"
        assert f'failed calling webhook "{name}-dead.example.com"' in answer.json["message"]
