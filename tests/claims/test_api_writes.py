from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from claims.models import OrderEvent
from gpu.resources import RELEASE_FINALIZER
from kube.errors import BadRequest, Invalid
from kube.kinds import GPU_CLAIMS
from portal.errors import from_kube_error
from portal.models import ClaimRecord, User
from tests.builders import a_claim
from tests.fixtures.live import Live
from tests.fixtures.rest import Rest, names, problem

As = Callable[..., Rest]
CLAIMS = "tenants/tenant-acme/claims/"


def claim(name: object = "two", **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "gpu.cozystack.io/v1alpha1",
        "kind": "GPUClaim",
        "metadata": {"name": name},
        "spec": {"className": "l40s", "count": 2, **spec},
    }


def test_an_order_is_answered_with_the_claim(live: Live, rest: As) -> None:
    response = rest("alice").send("POST", CLAIMS, claim())

    assert response.status_code == 201
    body = response.json()
    assert (body["kind"], body["spec"]) == ("GPUClaim", {"className": "l40s", "count": 2})
    assert response["Location"] == f"/api/v1/{CLAIMS}two/"
    assert response["ETag"] == f'"{body["metadata"]["resourceVersion"]}"'
    assert names(rest("bob").get(CLAIMS)) == ["two"]


def test_labels_and_annotations_go_along_and_nothing_else_is_dropped_in_silence(live: Live, rest: As) -> None:
    body = claim()
    body["metadata"] |= {"labels": {"team": "ai"}, "annotations": {"note": "x"}, "uid": "ignored"}

    response = rest("alice").send("POST", CLAIMS, body, headers={"Idempotency-Key": "k"})

    metadata = response.json()["metadata"]
    assert (metadata["labels"], metadata["annotations"]["note"]) == ({"team": "ai"}, "x")
    body["metadata"] |= {"finalizers": ["example.com/mine"], "labels": ["no"]}
    refused = problem(rest("alice").send("POST", CLAIMS, body), 422)
    assert [cause["field"] for cause in refused["causes"]] == ["metadata.finalizers", "metadata.labels"]


def test_an_order_needs_no_name(live: Live, rest: As) -> None:
    body = claim()
    del body["metadata"]

    response = rest("alice").send("POST", CLAIMS, body)

    assert response.status_code == 201
    assert response.json()["metadata"]["name"].startswith("l40s-")


def test_a_dry_run_stores_nothing(live: Live, rest: As) -> None:
    response = rest("alice").send("POST", f"{CLAIMS}?dryRun=All", claim())

    assert response.status_code == 200
    assert response.json()["metadata"]["name"] == "two"
    assert live.claims() == []
    problem(rest("alice").send("POST", f"{CLAIMS}?dryRun=all", claim()), 400)


def test_a_name_cannot_be_used_twice(live: Live, rest: As) -> None:
    alice = rest("alice")
    alice.send("POST", CLAIMS, claim())

    assert problem(alice.send("POST", CLAIMS, claim()), 409)["type"].endswith("AlreadyExists")


@pytest.mark.parametrize(("who", "status"), [("bob", 403), ("charlie", 404), ("stranger", 404)])
def test_only_members_with_the_right_order_and_release(live: Live, rest: As, who: str, status: int) -> None:
    rest("alice").send("POST", CLAIMS, claim())

    problem(rest(who).send("POST", CLAIMS, claim("other")), status)
    problem(rest(who).send("DELETE", f"{CLAIMS}two/"), status)

    assert [found.metadata.name for found in live.claims()] == ["two"]


@pytest.mark.parametrize("count", [0, -1, 2**31, "two", 1e308, True])
def test_a_bad_count_is_refused_here_as_the_api_server_would(live: Live, rest: As, count: object) -> None:
    with pytest.raises(Invalid) as caught:
        live.gateway.create(GPU_CLAIMS, claim(count=count), namespace="tenant-acme")

    body = problem(rest("alice").send("POST", CLAIMS, claim(count=count)), 422)

    theirs = {
        cause.field for cause in from_kube_error(caught.value).causes
    }  # it may find two faults in one field
    assert {cause["field"] for cause in body["causes"]} == theirs == {"spec.count"}


def test_a_null_count_is_an_absent_one_here_as_there(live: Live, rest: As) -> None:
    theirs = live.gateway.create(GPU_CLAIMS, claim(count=None), namespace="tenant-acme", dry_run=True)

    ours = rest("alice").send("POST", CLAIMS, claim(count=None))

    assert ours.json()["spec"]["count"] == theirs.object.spec.count == 1


def test_a_capital_in_a_name_is_refused_here_as_there(live: Live, rest: As) -> None:
    with pytest.raises(Invalid) as caught:
        live.gateway.create(GPU_CLAIMS, claim("Two"), namespace="tenant-acme")

    body = problem(rest("alice").send("POST", CLAIMS, claim("Two")), 422)

    theirs = from_kube_error(caught.value).causes
    assert [(cause["field"], cause["message"]) for cause in body["causes"]] == [
        (cause.field, cause.message) for cause in theirs
    ]


def test_a_long_name_and_a_nul_are_refused(live: Live, rest: As) -> None:
    body = problem(rest("alice").send("POST", CLAIMS, claim("a" * 64)), 422)

    assert body["causes"] == [
        {"field": "metadata.name", "message": "is too long: 64 characters of at most 63"}
    ]
    problem(rest("alice").send("POST", CLAIMS, claim("nul\0")), 400)


def test_a_misspelt_field_is_named_here_as_there(live: Live, rest: As) -> None:
    with pytest.raises(BadRequest) as caught:
        live.gateway.create(GPU_CLAIMS, claim(coun=2), namespace="tenant-acme")

    body = problem(rest("alice").send("POST", CLAIMS, claim(coun=2)), 422)

    theirs = from_kube_error(caught.value).causes
    assert [cause["field"] for cause in body["causes"]] == [cause.field for cause in theirs] == ["spec.coun"]


def test_a_release_is_done_at_once(live: Live, rest: As) -> None:
    alice = rest("alice")
    alice.send("POST", CLAIMS, claim())

    response = alice.send("DELETE", f"{CLAIMS}two/")

    assert (response.status_code, response.content) == (204, b"")
    assert live.claims() == []
    problem(alice.send("DELETE", f"{CLAIMS}two/"), 404)
    assert list(OrderEvent.objects.order_by("id").values_list("kind", flat=True)) == ["ordered", "released"]


def test_a_release_that_waits_for_the_vm_shows_the_claim(live: Live, rest: As) -> None:
    live.put(a_claim("two", node="gpu-node-1", attached_to="vm"))
    live.patch(a_claim("two"), {"metadata": {"finalizers": [RELEASE_FINALIZER]}})
    live.sync()

    response = rest("alice").send("DELETE", f"{CLAIMS}two/")

    assert response.status_code == 202
    assert response.json()["metadata"]["deletionTimestamp"]
    assert b"gpu-node-1" not in response.content
    live.patch(a_claim("two"), {"metadata": {"finalizers": None}})


def test_a_release_of_an_older_version_is_a_failed_precondition(live: Live, rest: As) -> None:
    alice = rest("alice")
    old = alice.send("POST", CLAIMS, claim())["ETag"]
    live.patch(a_claim("two"), {"metadata": {"labels": {"a": "b"}}})

    problem(alice.send("DELETE", f"{CLAIMS}two/", headers={"If-Match": old}), 412)
    live.sync()
    problem(alice.send("DELETE", f"{CLAIMS}two/", headers={"If-Match": f"W/{old}"}), 412)
    problem(alice.send("DELETE", f"{CLAIMS}two/", headers={"If-Match": '"1"'}), 412)
    current = f'"{ClaimRecord.objects.get().resource_version}"'
    response = alice.send("DELETE", f"{CLAIMS}two/", headers={"If-Match": f'"1", {current}'})

    assert response.status_code == 204


def test_while_the_cluster_is_away_an_order_says_so_and_can_be_sent_again(live: Live, rest: As) -> None:
    alice, key = rest("alice"), {"Idempotency-Key": "once"}
    live.server.stop()
    try:
        response = alice.send("POST", CLAIMS, claim(), headers=key)
        problem(response, 503)
        assert int(response["Retry-After"]) > 0
        assert alice.get(CLAIMS).status_code == 200
    finally:
        live.server.start()

    assert alice.send("POST", CLAIMS, claim(), headers=key).status_code == 201


def test_a_session_needs_its_csrf_token(live: Live, rest: As) -> None:
    problem(rest("alice", csrf=True).send("POST", CLAIMS, claim()), 403)
    assert live.claims() == []


def test_a_local_user_orders_by_name_and_password(live: Live, rest: As) -> None:
    user = User.objects.get(username="alice")
    user.set_password("correct horse battery")
    user.save()
    nobody = rest(None)

    def basic(password: str) -> dict[str, str]:
        return {"Authorization": "Basic " + b64encode(f"alice:{password}".encode()).decode()}

    wrong = nobody.send("POST", CLAIMS, claim(), headers=basic("wrong"))
    right = nobody.send("POST", CLAIMS, claim(), headers=basic("correct horse battery"))

    problem(wrong, 401)
    assert wrong["WWW-Authenticate"].startswith("Basic ")
    assert right.status_code == 201
