"""What every API server does with objects: the dev server and a real one are held to the same.

The other files of the suite are test_contract_*.py. See tests/fixtures/servers.py for how to point it at a real server.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kube.errors import NotFound, NotServed
from kube.gateway import Gateway
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NAMESPACES, PODS, RESOURCE_QUOTAS
from kube.statuses import error_from_answer
from tests.kube.orders import a_claim
from tests.kube.wire import Wire


def test_a_created_object_carries_what_the_server_decides(claim: dict[str, Any], namespace: str) -> None:
    metadata = claim["metadata"]

    assert claim["apiVersion"] == "gpu.cozystack.io/v1alpha1"
    assert claim["kind"] == "GPUClaim"
    assert metadata["namespace"] == namespace
    assert metadata["generation"] == 1
    assert {"uid", "resourceVersion", "creationTimestamp"} <= metadata.keys()


def test_a_created_object_has_defaults_and_no_status(wire: Wire, namespace: str) -> None:
    body = a_claim("one") | {"status": {"nodeName": "n1"}}

    created = wire.create(GPU_CLAIMS, body, namespace=namespace).json

    assert created["spec"] == {"className": "l40s", "count": 1}
    assert "status" not in created


def test_a_second_object_of_the_name_already_exists(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    again = wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)

    assert again.code == 409
    assert again.json["reason"] == "AlreadyExists"
    assert again.json["message"] == 'gpuclaims.gpu.cozystack.io "one" already exists'
    assert again.json["details"] == {"name": "one", "group": "gpu.cozystack.io", "kind": "gpuclaims"}


def test_generate_name_gives_names_of_the_prefix(wire: Wire, namespace: str) -> None:
    body = {"metadata": {"generateName": "order-"}, "spec": {"className": "l40s"}}

    names = {wire.create(GPU_CLAIMS, body, namespace=namespace).json["metadata"]["name"] for _ in range(3)}

    assert len(names) == 3
    assert all(name.startswith("order-") and len(name) == len("order-") + 5 for name in names)


def test_an_object_cannot_be_created_in_a_missing_namespace(wire: Wire, name: str) -> None:
    refused = wire.create(GPU_CLAIMS, a_claim("one"), namespace=name)

    assert refused.code == 404
    assert refused.json["message"] == f'namespaces "{name}" not found'


def test_an_object_names_the_namespace_of_its_path_or_none(wire: Wire, namespace: str) -> None:
    body = {"metadata": {"name": "one", "namespace": "default"}, "spec": {"className": "l40s"}}

    refused = wire.create(GPU_CLAIMS, body, namespace=namespace)

    assert refused.code == 400
    assert "does not match the namespace" in refused.json["message"]


def test_a_dry_run_is_checked_whole_and_stores_nothing(wire: Wire, namespace: str) -> None:
    fine = wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace, dryRun="All")
    bad = wire.create(GPU_CLAIMS, a_claim("one", count=0), namespace=namespace, dryRun="All")

    assert fine.code == 201
    assert "resourceVersion" not in fine.json["metadata"]
    assert bad.code == 422
    assert wire.get(GPU_CLAIMS, "one", namespace=namespace).code == 404


def test_a_missing_object_is_not_found(wire: Wire, namespace: str) -> None:
    missing = wire.get(GPU_CLAIMS, "none", namespace=namespace)

    assert missing.code == 404
    assert missing.json["reason"] == "NotFound"
    assert missing.json["message"] == 'gpuclaims.gpu.cozystack.io "none" not found'


@pytest.mark.parametrize("subresource", ["", "status"])
def test_a_write_to_a_missing_object_is_answered_with_its_name(
    wire: Wire, namespace: str, subresource: str
) -> None:
    refused = wire.patch(GPU_CLAIMS, "none", {}, namespace=namespace, subresource=subresource)

    error = error_from_answer(refused.code, refused.body)
    assert type(error) is NotFound
    assert "gpuclaims" in error.message


def test_an_unknown_resource_is_not_found(wire: Wire) -> None:
    for path in ("gpu.cozystack.io/v1alpha1/gputhings", "nobody.example/v1/things/one"):
        refused = wire.send("GET", f"/apis/{path}")
        assert type(error_from_answer(refused.code, refused.body)) is NotServed


def test_a_stale_update_conflicts(wire: Wire, claim: dict[str, Any], namespace: str) -> None:
    newer = wire.patch(GPU_CLAIMS, "one", {"metadata": {"labels": {"a": "b"}}}, namespace=namespace)

    stale = wire.put(GPU_CLAIMS, claim, namespace=namespace)

    assert newer.code == 200
    assert stale.code == 409
    assert stale.json["reason"] == "Conflict"
    assert "the object has been modified" in stale.json["message"]


def test_an_update_of_a_custom_object_names_its_resource_version(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    del claim["metadata"]["resourceVersion"]

    refused = wire.put(GPU_CLAIMS, claim, namespace=namespace)

    assert refused.code == 422
    (cause,) = refused.causes
    assert cause[1] == "metadata.resourceVersion"
    assert "must be specified for an update" in cause[2]


def test_an_update_that_changes_nothing_keeps_the_resource_version(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    same = wire.put(GPU_CLAIMS, claim, namespace=namespace)

    assert same.code == 200
    assert same.json["metadata"]["resourceVersion"] == claim["metadata"]["resourceVersion"]


def test_generation_counts_changes_of_spec_only(wire: Wire, name: str) -> None:
    spec = {
        "vendor": "NVIDIA",
        "model": "L40S",
        "mode": "passthrough",
        "source": {"devicePlugin": {"resourceName": "nvidia.com/x"}},
    }
    wire.create(GPU_CLASSES, {"metadata": {"name": name}, "spec": spec})

    labelled = wire.patch(GPU_CLASSES, name, {"metadata": {"labels": {"a": "b"}}})
    counted = wire.patch(GPU_CLASSES, name, {"status": {"free": 1}}, subresource="status")
    edited = wire.patch(GPU_CLASSES, name, {"spec": {"maxCount": 2}})
    wire.delete(GPU_CLASSES, name)

    assert [answer.json["metadata"]["generation"] for answer in (labelled, counted, edited)] == [1, 1, 2]


def test_status_and_spec_are_written_through_their_own_paths(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    both = {"metadata": {"labels": {"a": "b"}}, "status": {"nodeName": "n1"}}

    main = wire.patch(GPU_CLAIMS, "one", both, namespace=namespace).json
    status = wire.patch(
        GPU_CLAIMS,
        "one",
        {"metadata": {"labels": {"c": "d"}}, "status": {"nodeName": "n2"}},
        namespace=namespace,
        subresource="status",
    ).json

    assert "status" not in main
    assert status["status"] == {"nodeName": "n2"}
    assert status["metadata"]["labels"] == {"a": "b"}


def test_a_pod_starts_pending_whatever_it_says(wire: Wire, namespace: str) -> None:
    container = {"name": "c", "image": "example.com/none"}
    body = {
        "metadata": {"name": "p"},
        "spec": {"containers": [container], "nodeName": "n1"},
        "status": {"phase": "Running"},
    }

    pod = wire.create(PODS, body, namespace=namespace).json
    running = wire.patch(
        PODS, "p", {"status": {"phase": "Running"}}, namespace=namespace, subresource="status"
    )

    assert pod["status"]["phase"] == "Pending"
    assert running.json["status"]["phase"] == "Running"


def test_the_gateway_reads_what_it_wrote(gateway: Gateway, namespace: str) -> None:
    created = gateway.create(GPU_CLAIMS, a_claim("one", count=3), namespace=namespace)

    read = gateway.get(GPU_CLAIMS, "one", namespace=namespace)

    assert read.object == created.object
    assert read.object.spec.count == 3


def test_a_namespace_carries_its_name_as_a_label(wire: Wire, namespace: str) -> None:
    labels = wire.get(NAMESPACES, namespace).json["metadata"]["labels"]

    assert labels["kubernetes.io/metadata.name"] == namespace


def test_a_body_that_is_no_json_is_a_bad_request(wire: Wire, namespace: str) -> None:
    path = GPU_CLAIMS.path(namespace=namespace)

    assert wire.send("POST", path, b"{").code == 400
    assert wire.send("POST", path, b"[]").code == 400
    assert wire.send("PATCH", f"{path}/one", b"{}", content_type="text/plain").code == 415


def test_a_quota_that_counts_objects_is_kept_to(wire: Wire, namespace: str) -> None:
    key = "count/gpuclaims.gpu.cozystack.io"
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {key: "1"}}}
    wire.create(RESOURCE_QUOTAS, quota, namespace=namespace)
    # A real API server enforces what the status says; its controller copies it there.
    status = {"status": {"hard": {key: "1"}, "used": {key: "0"}}}
    wire.patch(RESOURCE_QUOTAS, "q", status, namespace=namespace, subresource="status")

    first = wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
    second = wire.create(GPU_CLAIMS, a_claim("two"), namespace=namespace)

    assert first.code == 201
    assert second.code == 403
    assert second.json["message"] == (
        f'gpuclaims.gpu.cozystack.io "two" is forbidden: exceeded quota: q, requested: {key}=1, '
        f"used: {key}=1, limited: {key}=1"
    )


def test_of_many_creates_of_one_name_one_succeeds(wire: Wire, namespace: str) -> None:
    with ThreadPoolExecutor(max_workers=16) as pool:
        creates = [
            pool.submit(wire.create, GPU_CLAIMS, a_claim("one"), namespace=namespace) for _ in range(50)
        ]
        codes = [create.result().code for create in creates]

    assert sorted(codes) == [201] + [409] * 49


def test_of_many_updates_from_one_resource_version_one_succeeds(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    def label(number: int) -> int:
        changed = {**claim, "metadata": {**claim["metadata"], "labels": {"by": str(number)}}}
        return wire.put(GPU_CLAIMS, changed, namespace=namespace).code

    with ThreadPoolExecutor(max_workers=16) as pool:
        codes = list(pool.map(label, range(50)))

    assert sorted(codes) == [200] + [409] * 49


def test_no_patch_without_a_resource_version_is_lost(
    wire: Wire, claim: dict[str, Any], namespace: str
) -> None:
    def label(number: int) -> int:
        patch = {"metadata": {"labels": {f"k{number}": "v"}}}
        return wire.patch(GPU_CLAIMS, "one", patch, namespace=namespace).code

    with ThreadPoolExecutor(max_workers=8) as pool:
        codes = list(pool.map(label, range(40)))

    labels = wire.get(GPU_CLAIMS, "one", namespace=namespace).json["metadata"]["labels"]
    assert set(codes) == {200}
    assert len(labels) == 40
