"""Contract: patches, deletes and bodies that make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from kube.kinds import GPU_CLAIMS, NODES
from tests.kube.orders import a_claim
from tests.kube.wire import APPLY, JSON_PATCH, STRATEGIC, Wire


def test_a_merge_patch_with_a_stale_resource_version_conflicts(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    version = claim["metadata"]["resourceVersion"]
    first = {"metadata": {"resourceVersion": version, "labels": {"by": "first"}}}
    second = {"metadata": {"resourceVersion": version, "labels": {"by": "second"}}}

    assert wire.patch(GPU_CLAIMS, "one", first, namespace=namespace).code == 200
    assert wire.patch(GPU_CLAIMS, "one", second, namespace=namespace).code == 409


@pytest.mark.parametrize("version", [None, "", "0", "00"])
@pytest.mark.parametrize("subresource", ["", "status"])
def test_a_custom_object_is_not_written_without_a_resource_version(
    wire: Wire, claim: dict[str, Any], namespace: str, version: str | None, subresource: str
) -> None:
    claim["metadata"]["resourceVersion"] = version
    options = {"namespace": namespace, "subresource": subresource}

    put = wire.put(GPU_CLAIMS, claim, **options)
    merged = wire.patch(GPU_CLAIMS, "one", {"metadata": {"resourceVersion": version}}, **options)

    told = "Invalid value: 0: must be specified for an update"
    for refused in (put, merged):
        assert refused.code == 422
        assert refused.json["message"] == (
            f'gpuclaims.gpu.cozystack.io "one" is invalid: metadata.resourceVersion: {told}'
        )
        assert refused.causes == [("FieldValueInvalid", "metadata.resourceVersion", told)]


def test_a_status_that_is_put_alone_leaves_the_rest_of_a_custom_object_as_it_is(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    labels = {"metadata": {"labels": {"team": "a"}, "resourceVersion": claim["metadata"]["resourceVersion"]}}
    before = wire.patch(GPU_CLAIMS, "one", labels, namespace=namespace).json
    who = {key: before["metadata"][key] for key in ("name", "uid", "resourceVersion")}
    body = {"metadata": who | {"labels": {"team": "b"}}, "status": {"nodeName": "n1"}}
    options = {"namespace": namespace, "subresource": "status"}

    put = wire.put(GPU_CLAIMS, body, fieldValidation="Strict", **options)
    again = wire.put(GPU_CLAIMS, body, **options)
    of_another = wire.put(GPU_CLAIMS, {**body, "metadata": put.json["metadata"] | {"uid": "x"}}, **options)

    assert put.code == 200
    assert put.json["status"] == {"nodeName": "n1"}
    assert put.json["spec"] == before["spec"]
    for kept in ("labels", "uid", "creationTimestamp", "generation"):
        assert put.json["metadata"][kept] == before["metadata"][kept]
    assert again.code == 409, "the version it names is old"
    assert of_another.code == 409, "it means another object that had the name"


def test_a_built_in_object_is_written_without_a_resource_version(wire: Wire, name: str) -> None:
    node = wire.create(NODES, {"metadata": {"name": name}}).json
    codes = []
    for version in (None, "0"):
        node["metadata"] |= {"resourceVersion": version, "labels": {"version": str(version)}}
        codes += [wire.put(NODES, node).code, wire.patch(NODES, name, node).code]
    wire.delete(NODES, name)

    assert codes == [200] * 4


def test_a_missing_custom_object_is_missing_before_it_lacks_anything(wire: Wire, namespace: str) -> None:
    assert wire.put(GPU_CLAIMS, a_claim("none"), namespace=namespace).code == 404


def test_a_json_patch_applies_its_operations_in_order(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    operations = [
        {"op": "test", "path": "/spec/count", "value": 2},
        {"op": "add", "path": "/metadata/labels", "value": {}},
        {"op": "add", "path": "/metadata/labels/example.com~1a", "value": "b"},
    ]

    patched = wire.patch(GPU_CLAIMS, "one", operations, namespace=namespace, content_type=JSON_PATCH)

    assert patched.code == 200
    assert patched.json["metadata"]["labels"] == {"example.com/a": "b"}


def test_a_failed_test_of_a_json_patch_is_invalid(wire: Wire, claim: dict[str, Any], namespace: str) -> None:
    operations = [{"op": "test", "path": "/spec/count", "value": 3}]

    refused = wire.patch(GPU_CLAIMS, "one", operations, namespace=namespace, content_type=JSON_PATCH)

    assert refused.code == 422
    assert refused.json["reason"] == "Invalid"


def test_a_custom_object_takes_no_strategic_patch(wire: Wire, claim: dict[str, Any], namespace: str) -> None:
    assert wire.patch(GPU_CLAIMS, "one", {}, namespace=namespace, content_type=STRATEGIC).code == 415


def test_a_strategic_patch_merges_conditions_by_type(wire: Wire, name: str) -> None:
    ready, disk = {"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}
    wire.create(NODES, {"metadata": {"name": name}, "status": {"conditions": [ready, disk]}})

    patched = wire.patch(
        NODES,
        name,
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        subresource="status",
        content_type=STRATEGIC,
    )
    wire.delete(NODES, name)

    conditions = {entry["type"]: entry["status"] for entry in patched.json["status"]["conditions"]}
    assert conditions == {"Ready": "False", "DiskPressure": "False"}


def test_an_apply_creates_and_then_changes(wire: Wire, namespace: str) -> None:
    body = {"apiVersion": GPU_CLAIMS.api_version, "kind": "GPUClaim", **a_claim("one")}
    options = {"namespace": namespace, "content_type": APPLY, "fieldManager": "test"}

    created = wire.patch(GPU_CLAIMS, "one", body, **options)
    body["metadata"]["labels"] = {"a": "b"}
    changed = wire.patch(GPU_CLAIMS, "one", body, **options)

    assert (created.code, changed.code) == (201, 200)
    assert changed.json["metadata"]["labels"] == {"a": "b"}


def test_a_delete_answers_with_success_and_the_object_is_gone(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    deleted = wire.delete(GPU_CLAIMS, "one", namespace=namespace)

    assert deleted.code == 200
    assert deleted.json["status"] == "Success"
    assert deleted.json["details"]["uid"] == claim["metadata"]["uid"]
    assert wire.get(GPU_CLAIMS, "one", namespace=namespace).code == 404


def test_a_delete_of_another_object_of_the_name_conflicts(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    refused = wire.delete(GPU_CLAIMS, "one", {"preconditions": {"uid": "other"}}, namespace=namespace)

    assert refused.code == 409
    assert "the UID in the precondition (other) does not match the UID in record" in refused.json["message"]


def test_a_finalizer_keeps_a_deleted_object_until_it_is_taken_off(wire: Wire, namespace: str) -> None:
    body = a_claim("one") | {"metadata": {"name": "one", "finalizers": ["example.com/hold"]}}
    wire.create(GPU_CLAIMS, body, namespace=namespace)

    going = wire.delete(GPU_CLAIMS, "one", namespace=namespace)
    another = wire.patch(
        GPU_CLAIMS,
        "one",
        {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}},
        namespace=namespace,
    )
    released = wire.patch(GPU_CLAIMS, "one", {"metadata": {"finalizers": []}}, namespace=namespace)

    assert going.json["metadata"]["deletionTimestamp"]
    assert going.json["metadata"]["generation"] == 2
    assert another.code == 422
    assert released.code == 200
    assert wire.get(GPU_CLAIMS, "one", namespace=namespace).code == 404


def test_a_collection_is_deleted_by_selector(wire: Wire, namespace: str) -> None:
    for name, team in (("a", "red"), ("b", "blue"), ("c", "red")):
        body = a_claim(name) | {"metadata": {"name": name, "labels": {"team": team}}}
        wire.create(GPU_CLAIMS, body, namespace=namespace)

    deleted = wire.send("DELETE", GPU_CLAIMS.path(namespace=namespace), labelSelector="team=red")

    assert deleted.code == 200
    assert wire.names(GPU_CLAIMS, namespace=namespace) == ["b"]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (b"", {400}),
        (b"5", {400}),
        (b"[" * 5000, {400}),
        (b'{"metadata":{"name":"\xff"}}', {422}),
        (b'{"metadata":[]}', {400}),
        (b'{"metadata":{"name":5}}', {400}),
        (b'{"metadata":{"name":"a","labels":"x"}}', {400}),
        (b'{"metadata":{"name":"a","finalizers":[5]}}', {400}),
        (b'{"metadata":{"name":"a"},"spec":"x"}', {422}),
        (b'{"metadata":{"name":"a"},"spec":{"className":"x","count":1e308}}', {422}),
        (b'{"metadata":{"name":"a"},"spec":{"className":"x","count":1e400}}', {400, 422}),
        (b'{"metadata":{"name":"a"},"spec":{"className":"x","count":"two"}}', {422}),
        (b'{"metadata":{"name":"a\\u0000b"},"spec":{"className":"x"}}', {422}),
    ],
)
def test_no_odd_body_is_more_than_a_refusal(wire: Wire, namespace: str, body: bytes, codes: set[int]) -> None:
    if body.startswith(b"{"):
        body = b'{"apiVersion":"gpu.cozystack.io/v1alpha1","kind":"GPUClaim",' + body[1:]

    answer = wire.send("POST", GPU_CLAIMS.path(namespace=namespace), body)

    assert answer.code in codes, answer.body
    assert answer.json["kind"] == "Status"


def test_a_patch_does_not_rename(wire: Wire, claim: dict[str, Any], namespace: str) -> None:
    renamed = wire.patch(GPU_CLAIMS, "one", {"metadata": {"name": "two"}}, namespace=namespace)

    assert renamed.code == 400
    assert "does not match the name on the URL" in renamed.json["message"]
