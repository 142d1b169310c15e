from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from gpu.corekinds import ObjectMeta
from gpu.resources import GPUClaim, GPUClaimSpec
from kube import errors
from kube.calls import PatchType
from kube.config import ClusterConfig
from kube.credentials import Fixed
from kube.gateway import Gateway
from kube.kinds import GPU_CLAIMS, NAMESPACES, NODES
from tests.kube.scripted import Act, Request, reply, scripted, status
from tests.kube.verbs import Connect, connect

__all__ = ["connect"]


CLAIM = {"metadata": {"name": "a", "namespace": "t"}, "spec": {"className": "l40s"}}


def echo(request: Request) -> Iterator[bytes]:
    """Answer a write with what was sent, everything else with a claim."""
    yield reply(request.body if request.method in ("POST", "PUT") else CLAIM)


def test_each_group_of_a_user_is_a_header_of_its_own(connect: Connect) -> None:
    with scripted(echo) as server:
        alice = connect(server.url).as_user(
            "alice", ["tenant-acme-use", "tenant-büro-view", "system:authenticated"]
        )
        alice.get(GPU_CLAIMS, "a", namespace="t")

    (request,) = server.requests
    assert request.one("Impersonate-User") == "alice"
    assert request.all("Impersonate-Group") == ["tenant-acme-use", "tenant-büro-view", "system:authenticated"]


@pytest.mark.parametrize(
    "username", ["", " ", " alice", "alice\n", "alice\r\nImpersonate-Group: system:masters", "a\0"]
)
def test_a_user_whose_name_would_not_arrive_as_written_is_nobody(connect: Connect, username: str) -> None:
    with scripted(echo) as server, pytest.raises(errors.BadRequest):
        connect(server.url).as_user(username, [])

    assert server.requests == []


def test_a_group_that_would_not_arrive_as_written_is_refused(connect: Connect) -> None:
    with scripted(echo) as server, pytest.raises(errors.BadRequest):
        connect(server.url).as_user("alice", ["tenant-acme-view", "tenant-acme-admin "])


def test_the_service_and_its_users_share_one_connection_and_no_identity(connect: Connect) -> None:
    with scripted(echo) as server:
        service = connect(ClusterConfig(server=server.url, credentials=Fixed("Bearer service")))
        service.as_user("alice", ["g"]).get(GPU_CLAIMS, "a", namespace="t")
        service.as_user("bob", []).get(GPU_CLAIMS, "a", namespace="t")
        service.get(GPU_CLAIMS, "a", namespace="t")

    assert server.connections == 1
    assert [request.one("Impersonate-User") for request in server.requests] == ["alice", "bob", None]
    assert {request.one("Authorization") for request in server.requests} == {"Bearer service"}


def test_a_created_object_carries_its_kind_and_is_checked_strictly(connect: Connect) -> None:
    body = GPUClaim(metadata=ObjectMeta(name="a"), spec=GPUClaimSpec(class_name="l40s", count=2))

    with scripted(echo) as server:
        created = connect(server.url).create(GPU_CLAIMS, body, namespace="t", dry_run=True)

    (request,) = server.requests
    assert (request.method, request.path) == (
        "POST",
        "/apis/gpu.cozystack.io/v1alpha1/namespaces/t/gpuclaims",
    )
    assert request.query == {"fieldValidation": "Strict", "dryRun": "All"}
    assert request.one("Content-Type") == "application/json"
    assert request.json["apiVersion"] == "gpu.cozystack.io/v1alpha1"
    assert request.json["kind"] == "GPUClaim"
    assert request.json["spec"] == {"className": "l40s", "count": 2}
    assert created.object.spec.count == 2
    assert created.raw == request.body


def test_a_mapping_is_created_just_as_it_is(connect: Connect) -> None:
    with scripted(echo) as server:
        connect(server.url).create(GPU_CLAIMS, {**CLAIM, "kind": "Forged"}, namespace="t")

    assert server.requests[0].json == {**CLAIM, "apiVersion": "gpu.cozystack.io/v1alpha1", "kind": "GPUClaim"}


def test_an_object_is_replaced_where_its_metadata_says(connect: Connect) -> None:
    with scripted(echo) as server:
        connect(server.url).replace(GPU_CLAIMS, CLAIM, subresource="status")

    (request,) = server.requests
    assert (request.method, request.path) == (
        "PUT",
        "/apis/gpu.cozystack.io/v1alpha1/namespaces/t/gpuclaims/a/status",
    )
    assert request.query == {"fieldValidation": "Strict"}


@pytest.mark.parametrize(
    "body", [{}, {"metadata": None}, {"metadata": {"name": 7}}, {"metadata": {"name": ""}}]
)
def test_an_object_without_a_name_is_not_replaced(connect: Connect, body: dict[str, Any]) -> None:
    with scripted(echo) as server, pytest.raises(errors.BadRequest):
        connect(server.url).replace(GPU_CLAIMS, body, namespace="t")

    assert server.requests == []


@pytest.mark.parametrize(
    ("patch_type", "patch", "query"),
    [
        (PatchType.MERGE, {"spec": {"maxCount": None, "tolerations": []}}, {}),
        (PatchType.JSON, [{"op": "remove", "path": "/spec/maxCount"}], {}),
        (PatchType.JSON, [], {}),
        (PatchType.APPLY, {"spec": {}}, {"fieldManager": "gpu-portal"}),
    ],
)
def test_a_patch_says_of_which_type_it_is(
    connect: Connect, patch_type: PatchType, patch: Any, query: dict[str, str]
) -> None:
    with scripted(echo) as server:
        connect(server.url).patch(GPU_CLAIMS, "a", patch, namespace="t", patch_type=patch_type)

    (request,) = server.requests
    assert request.one("Content-Type") == str(patch_type)
    assert request.query == {"fieldValidation": "Strict", **query}
    if patch_type is PatchType.APPLY:
        assert request.json == {"apiVersion": "gpu.cozystack.io/v1alpha1", "kind": "GPUClaim", "spec": {}}
    else:
        assert request.json == patch


def test_an_apply_that_takes_over_says_so(connect: Connect) -> None:
    with scripted(echo) as server:
        connect(server.url).patch(
            GPU_CLAIMS, "a", {}, namespace="t", patch_type=PatchType.APPLY, field_manager="binder", force=True
        )

    assert server.requests[0].query == {
        "fieldValidation": "Strict",
        "force": "true",
        "fieldManager": "binder",
    }


@pytest.mark.parametrize(
    ("patch_type", "patch"), [(PatchType.MERGE, []), (PatchType.JSON, {}), (PatchType.APPLY, [])]
)
def test_a_patch_of_the_wrong_shape_is_not_sent(connect: Connect, patch_type: PatchType, patch: Any) -> None:
    with scripted(echo) as server, pytest.raises(errors.BadRequest):
        connect(server.url).patch(GPU_CLAIMS, "a", patch, namespace="t", patch_type=patch_type)

    assert server.requests == []


def test_a_delete_carries_its_preconditions_and_its_dry_run_in_the_body(connect: Connect) -> None:
    with scripted(echo) as server:
        kept = connect(server.url).delete(
            GPU_CLAIMS, "a", namespace="t", uid="u1", resource_version="7", dry_run=True
        )

    assert server.requests[0].json["preconditions"] == {"uid": "u1", "resourceVersion": "7"}
    assert server.requests[0].json["dryRun"] == ["All"]
    assert kept is not None
    assert kept.object.metadata.name == "a"


@pytest.mark.parametrize("body", [b"", b'{"kind":"Status","status":"Success","details":{"name":"a"}}'])
def test_a_delete_of_what_is_gone_at_once_gives_nothing(connect: Connect, body: bytes) -> None:
    with scripted(lambda request: [reply(body)]) as server:
        assert connect(server.url).delete(GPU_CLAIMS, "a", namespace="t") is None


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../../gpuclasses/h200", "a%2fb"])
def test_a_name_that_would_lead_elsewhere_is_never_sent(connect: Connect, name: str) -> None:
    with scripted(echo) as server:
        verbs = connect(server.url)
        for call in (verbs.get, verbs.delete):
            with pytest.raises(errors.BadRequest if name == "" else errors.NotFound):
                call(GPU_CLAIMS, name, namespace="t")  # nothing can ever have that name
            with pytest.raises(errors.NotFound):
                call(GPU_CLAIMS, "a", namespace=name)
        with pytest.raises(errors.NotFound):
            verbs.list(GPU_CLAIMS, namespace=name)

    assert server.requests == []


def test_a_namespaced_object_is_never_looked_for_without_its_namespace(connect: Connect) -> None:
    with scripted(echo) as server, pytest.raises(errors.BadRequest):
        connect(server.url).delete(GPU_CLAIMS, "a")

    assert server.requests == []


@pytest.mark.parametrize(("name", "sent"), [("a b", "a%20b"), ("naïve", "na%C3%AFve"), ("n\0", "n%00"), ("a?x=1#y", "a%3Fx%3D1%23y"), ("system:x", "system:x"), ("\ud800", "%3F")])  # fmt: skip
def test_a_strange_name_is_quoted_for_the_server_to_judge(connect: Connect, name: str, sent: str) -> None:
    with (
        scripted(lambda request: [status(404, "NotFound", "no", name="it")]) as server,
        pytest.raises(errors.NotFound),
    ):
        connect(server.url).get(NODES, name)

    assert server.requests[0].target == f"/api/v1/nodes/{sent}"


def test_text_that_is_no_text_is_refused_before_it_is_sent(connect: Connect) -> None:
    with scripted(echo) as server, pytest.raises(errors.BadRequest):
        connect(server.url).create(NAMESPACES, {"metadata": {"name": "\ud800"}})

    assert server.requests == []


def test_warnings_of_the_server_reach_the_caller_as_written_and_once(connect: Connect) -> None:
    headers = [
        ("Warning", '299 - "unknown field \\"spec.x\\""'),
        ("Warning", '299 - "a, b", 299 - "schön"'),
        ("Warning", '299 - "a, b"'),
        ("Warning", '199 cache "stale"'),
        ("Warning", "garbage"),
    ]

    with scripted(lambda request: [reply(CLAIM, *headers, code=201)]) as server:
        created = connect(server.url).create(GPU_CLAIMS, CLAIM, namespace="t")

    assert created.warnings == ('unknown field "spec.x"', "a, b", "schön")


def test_a_read_survives_a_connection_that_died_while_it_was_idle(connect: Connect) -> None:
    def script(request: Request) -> Iterator[bytes | Act]:
        if len(server.requests) == 2:
            yield Act.RESET
        yield reply(CLAIM)

    with scripted(script) as server:
        verbs = connect(server.url)
        verbs.get(GPU_CLAIMS, "a", namespace="t")
        verbs.get(GPU_CLAIMS, "a", namespace="t")

    assert len(server.requests) == 3


def test_threads_share_a_gateway_and_keep_no_more_connections_than_threads() -> None:
    with scripted(echo) as server, Gateway.connect(ClusterConfig(server=server.url), pool_size=4) as gateway:

        def read(index: int) -> str:
            user = gateway.as_user(f"user-{index}", [f"group-{index}"])
            return user.get(GPU_CLAIMS, f"claim-{index}", namespace="t").object.metadata.name

        with ThreadPoolExecutor(4) as threads:
            names = list(threads.map(read, range(200)))

    assert names == ["a"] * 200
    assert server.connections <= 4
    for request in server.requests:
        index = request.path.rsplit("-", 1)[1]
        assert request.all("Impersonate-Group") == [f"group-{index}"]
        assert request.one("Impersonate-User") == f"user-{index}"


def test_a_gateway_made_before_a_fork_refuses_to_work_after_it() -> None:
    with scripted(echo) as server, Gateway.connect(ClusterConfig(server=server.url)) as gateway:
        gateway.get(GPU_CLAIMS, "a", namespace="t")
        child = os.fork()
        if child == 0:
            try:
                gateway.get(GPU_CLAIMS, "a", namespace="t")
            except RuntimeError:
                os._exit(7)
            os._exit(0)

        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_times_are_written_as_the_api_server_reads_them(connect: Connect) -> None:
    at = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)

    with scripted(echo) as server:
        connect(server.url).patch(
            GPU_CLAIMS, "a", {"status": {"boundAt": at}}, namespace="t", subresource="status"
        )

    assert server.requests[0].json == {"status": {"boundAt": "2026-05-01T12:30:00Z"}}
