from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu.resources import GPUClassStatus
from kube.kinds import GPU_CLASSES
from portal.models import ClassRecord, NodeStock
from tests.builders import a_claim, a_class, a_node
from tests.fixtures.live import Live
from tests.fixtures.rest import Mirrored, Rest, names, problem

As = Callable[..., Rest]
SPEC: dict[str, Any] = {
    "vendor": "nvidia",
    "model": "L40S",
    "mode": "passthrough",
    "source": {"devicePlugin": {"resourceName": "nvidia.com/AD102GL_L40S"}},
    "memory": "46068Mi",
    "maxCount": 4,
    "tolerations": [{"operator": "Exists"}],
}


def offer(name: str = "l40s", **changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "gpu.cozystack.io/v1alpha1",
        "kind": "GPUClass",
        "metadata": {"name": name},
        "spec": {**SPEC, **changes},
    }


def test_everyone_who_is_signed_in_sees_the_catalog(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class("l40s"), a_class("h100", model="H100"))

    response = rest("stranger").get("classes/")

    assert names(response) == ["h100", "l40s"]
    assert response.json()["kind"] == "GPUClassList"


def test_classes_are_filtered_and_paged(rest: As, mirrored: Mirrored) -> None:
    roomy = a_class("roomy", vendor="amd", model="MI300X")
    roomy.status = GPUClassStatus(free=8, max_free_per_node=8)
    mirrored(a_class("a"), a_class("b", model="L4"), roomy)
    alice = rest("alice")

    assert names(alice.get("classes/", vendor="amd")) == ["roomy"]
    assert names(alice.get("classes/", model="L4")) == ["b"]
    assert names(alice.get("classes/", mode="vgpu")) == []
    assert names(alice.get("classes/", fits="8")) == ["roomy"]
    assert names(alice.get("classes/", fits="9")) == []
    first = alice.get("classes/", limit=2)
    assert names(first) == ["a", "b"]
    assert names(alice.get("classes/", {"continue": first.json()["metadata"]["continue"]})) == ["roomy"]
    problem(alice.get("classes/", fits="some"), 400)


def test_nodes_come_with_their_stock_to_hosters(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_node("n1"), a_node("n2", cordoned=True), a_node("n3", ready=False))
    NodeStock.objects.create(
        node="n1",
        resource="nvidia.com/gpu",
        capacity=8,
        allocatable=8,
        held=3,
        in_use=1,
        foreign=1,
        free=4,
        over_committed=0,
    )
    hoster = rest("hoster")

    everything = hoster.get("nodes/")
    one = hoster.get("nodes/n1/").json()

    assert names(everything) == ["n1", "n2", "n3"]
    assert names(hoster.get("nodes/", cordoned="true")) == ["n2"]
    assert names(hoster.get("nodes/", ready="false")) == ["n3"]
    assert one["status"]["allocatable"] == {"nvidia.com/AD102GL_L40S": "8"}
    assert one["stock"] == everything.json()["items"][0]["stock"]
    assert one["stock"][0] == {
        "resource": "nvidia.com/gpu",
        "capacity": 8,
        "allocatable": 8,
        "held": 3,
        "inUse": 1,
        "foreign": 1,
        "free": 4,
        "overCommitted": 0,
    }
    problem(hoster.get("nodes/n9/"), 404)
    problem(rest("alice").get("nodes/n1/"), 404)


def test_a_hoster_publishes_and_the_mirror_knows_at_once(live: Live, rest: As) -> None:
    response = rest("hoster").send("POST", "classes/", offer())

    assert response.status_code == 201
    assert response["Location"] == "/api/v1/classes/l40s/"
    found = rest("alice").get("classes/l40s/")
    assert found["ETag"] == response["ETag"]
    assert found.json()["spec"] == {**SPEC, "onCordon": "Move"}


def test_publishing_twice_under_one_key_is_one_offer(live: Live, rest: As) -> None:
    hoster, key = rest("hoster"), {"Idempotency-Key": "k"}

    first = hoster.send("POST", "classes/", offer(), headers=key)
    again = hoster.send("POST", "classes/", offer(), headers=key)

    assert (first.status_code, first.content) == (again.status_code, again.content)
    problem(hoster.send("POST", "classes/", offer()), 409)


def test_a_dry_run_publishes_nothing(live: Live, rest: As) -> None:
    assert rest("hoster").send("POST", "classes/?dryRun=All", offer()).status_code == 200
    assert live.gateway.list_all(GPU_CLASSES).items == []


def test_what_breaks_the_schema_is_told_at_its_field(live: Live, rest: As) -> None:
    bad = offer(memory="48GB", tolerations=[{"key": "a", "operator": "Exists", "value": "b"}])

    body = problem(rest("hoster").send("POST", "classes/", bad), 422)

    assert {cause["field"]: cause["message"] for cause in body["causes"]} == {
        "spec.memory": "must be an amount such as 48Gi, without spaces",
        "spec.tolerations[0]": "a toleration with operator Exists takes no value",
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("L40S", "must be lower-case letters, digits and dashes, and begin and end with a letter or digit"),
        ("a" * 64, "is too long: 64 characters of at most 63"),
        ("", "is required"),
        (None, "is required"),
        (8, "must be text"),
        ("total", "GPUClass name total is reserved for the gpu.cozystack.io/total quota key"),
    ],
)
def test_a_bad_name_is_told_at_the_name(live: Live, rest: As, name: Any, message: str) -> None:
    body = problem(rest("hoster").send("POST", "classes/", offer(name)), 422)

    assert body["causes"] == [{"field": "metadata.name", "message": message}]


@pytest.mark.parametrize("name", ["8", "1g-10gb", "new", "edit", "schema"])
def test_a_name_that_looks_like_a_word_of_ours_opens(live: Live, rest: As, name: str) -> None:
    assert rest("hoster").send("POST", "classes/", offer(name)).status_code == 201
    assert rest("alice").get(f"classes/{name}/").json()["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "classes/", offer("other")),
        ("PUT", "classes/l40s/", offer()),
        ("PATCH", "classes/l40s/", {"spec": {"maxCount": 1}}),
        ("DELETE", "classes/l40s/", None),
    ],
)
def test_tenants_look_and_do_not_touch(live: Live, rest: As, method: str, path: str, body: Any) -> None:
    rest("hoster").send("POST", "classes/", offer())

    problem(rest("alice").send(method, path, body), 403)

    assert [item.object.metadata.name for item in live.gateway.list_all(GPU_CLASSES).items] == ["l40s"]


def test_a_replaced_offer_is_what_was_sent(live: Live, rest: As) -> None:
    hoster = rest("hoster")
    hoster.send("POST", "classes/", offer())
    smaller = offer()
    del smaller["spec"]["maxCount"], smaller["spec"]["tolerations"]

    response = hoster.send("PUT", "classes/l40s/", smaller)

    assert response.status_code == 200
    assert response.json()["spec"].keys() == smaller["spec"].keys() | {"onCordon"}
    problem(hoster.send("PUT", "classes/l40s/", offer("other")), 422)
    problem(hoster.send("PUT", "classes/none/", offer("none")), 404)


def test_labels_are_replaced_where_they_are_sent(live: Live, rest: As) -> None:
    hoster = rest("hoster")
    labelled = offer()
    labelled["metadata"]["labels"] = {"team": "gpu", "old": "yes"}
    hoster.send("POST", "classes/", labelled)

    assert hoster.send("PUT", "classes/l40s/", offer()).json()["metadata"]["labels"] == {
        "team": "gpu",
        "old": "yes",
    }
    labelled["metadata"]["labels"] = {"team": "ai"}
    assert hoster.send("PUT", "classes/l40s/", labelled).json()["metadata"]["labels"] == {"team": "ai"}
    labelled["metadata"]["labels"] = {"team": 1}
    body = problem(hoster.send("PUT", "classes/l40s/", labelled), 422)
    assert body["causes"][0]["field"] == "metadata.labels"


def test_a_null_in_a_patch_removes_the_field(live: Live, rest: As) -> None:
    hoster = rest("hoster")
    hoster.send("POST", "classes/", offer())

    response = hoster.send("PATCH", "classes/l40s/", {"spec": {"maxCount": None, "displayName": "L40S"}})

    assert response.status_code == 200
    assert "maxCount" not in response.json()["spec"]
    assert ClassRecord.objects.get().display_name == "L40S"


def test_a_patch_may_come_as_what_it_is(live: Live, rest: As) -> None:
    hoster = rest("hoster")
    hoster.send("POST", "classes/", offer())

    response = hoster.client.patch(
        "/api/v1/classes/l40s/", b'{"spec":{"maxCount":1}}', content_type="application/merge-patch+json"
    )

    assert response.json()["spec"]["maxCount"] == 1


@pytest.mark.parametrize(
    ("method", "body"), [("PUT", offer()), ("PATCH", {"spec": {"maxCount": 1}}), ("DELETE", None)]
)
def test_a_write_on_an_older_version_is_a_failed_precondition(
    live: Live, rest: As, method: str, body: Any
) -> None:
    hoster = rest("hoster")
    old = hoster.send("POST", "classes/", offer())["ETag"]
    hoster.send("PATCH", "classes/l40s/", {"spec": {"maxCount": 2}})

    problem(hoster.send(method, "classes/l40s/", body, headers={"If-Match": old}), 412)

    current = rest("hoster").get("classes/l40s/")["ETag"]
    assert hoster.send(method, "classes/l40s/", body, headers={"If-Match": current}).status_code in {200, 204}


def test_the_version_in_a_body_is_a_condition_too(live: Live, rest: As) -> None:
    hoster = rest("hoster")
    made = hoster.send("POST", "classes/", offer()).json()
    hoster.send("PATCH", "classes/l40s/", {"spec": {"maxCount": 2}})

    problem(hoster.send("PUT", "classes/l40s/", made), 409)


def test_an_offer_that_is_held_cannot_be_withdrawn(live: Live, rest: As) -> None:
    hoster = rest("hoster")
    hoster.send("POST", "classes/", offer())
    live.put(a_claim("one"))
    live.sync()

    body = problem(hoster.send("DELETE", "classes/l40s/"), 409)

    assert "1 order holds this offer" in body["detail"]


def test_a_withdrawn_offer_is_gone(live: Live, rest: As) -> None:
    hoster = rest("hoster")
    hoster.send("POST", "classes/", offer())

    assert hoster.send("DELETE", "classes/l40s/?dryRun=All").status_code == 204
    assert hoster.send("DELETE", "classes/l40s/").status_code == 204

    problem(hoster.get("classes/l40s/"), 404)
    problem(hoster.send("DELETE", "classes/l40s/"), 404)
