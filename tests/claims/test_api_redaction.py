from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from claims.redaction import WORDS, for_tenant
from gpu import conditions
from gpu.resources import Condition, ConditionStatus
from tests.builders import NOON, a_claim, refusal_of


def shown(**claim: Any) -> dict[str, Any]:
    raw = msgspec.json.encode(
        {
            "apiVersion": "gpu.cozystack.io/v1alpha1",
            "kind": "GPUClaim",
            **msgspec.to_builtins(a_claim(**claim)),
        }
    )
    found: dict[str, Any] = json.loads(for_tenant(raw))
    return found


def test_a_tenant_sees_no_node_anywhere() -> None:
    message = Condition(
        type="Bound",
        status=ConditionStatus.TRUE,
        reason="Allocated",
        message="Held on gpu-node-7",
        last_transition_time=NOON,
    )

    claim = shown(node="gpu-node-7", conditions=[message], refused=[refusal_of("gpu-node-8", until=NOON)])

    assert "gpu-node" not in json.dumps(claim)
    assert claim["status"]["conditions"][0]["message"] == "The units are held on a node."


def test_what_the_api_server_notes_of_its_writers_names_no_node() -> None:
    claim = {
        "metadata": {
            "name": "one",
            "managedFields": [
                {
                    "manager": "controller",
                    "subresource": "status",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:status": {"f:refusedNodes": {'k:{"nodeName":"gpu-node-7"}': {".": {}}}}},
                }
            ],
        },
        "status": {"refusedNodes": [{"nodeName": "gpu-node-7"}]},
    }

    assert json.loads(for_tenant(json.dumps(claim).encode())) == {"metadata": {"name": "one"}, "status": {}}


def test_what_kubectl_keeps_of_an_object_that_was_restored_names_no_node() -> None:
    restored = json.dumps({"status": {"nodeName": "gpu-node-7"}})
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": restored, "team": "vision"}
    claim = {"metadata": {"name": "one", "annotations": annotations}}

    shown = json.loads(for_tenant(json.dumps(claim).encode()))

    assert shown == {"metadata": {"name": "one", "annotations": {"team": "vision"}}}


def test_everything_else_passes_through() -> None:
    claim = shown(node="n1", attached_to="vm", gpus=2, set_name="pair")

    assert claim["spec"] == {"className": "l40s", "count": 2, "setName": "pair"}
    assert claim["kind"] == "GPUClaim"
    assert claim["status"]["attachedTo"]["name"] == "vm"
    assert "boundAt" in claim["status"]


def test_fields_this_version_does_not_know_are_kept() -> None:
    raw = b'{"metadata":{"name":"one","x":[1, 2]},"spec":{"className":"a","new":1.50},"status":{"later":true,"nodeName":"n1"}}'

    assert for_tenant(raw) == (
        b'{"metadata":{"name":"one","x":[1, 2]},"spec":{"className":"a","new":1.50},"status":{"later":true}}'
    )


def test_a_claim_without_a_status_passes() -> None:
    assert for_tenant(b'{"metadata":{"name":"one"},"spec":{}}') == b'{"metadata":{"name":"one"},"spec":{}}'


@pytest.mark.parametrize(
    ("condition", "reasons"),
    [
        ("Bound", conditions.BoundReason),
        ("Attached", conditions.AttachedReason),
        ("Healthy", conditions.HealthyReason),
    ],
)
def test_every_reason_of_a_claim_has_words(condition: str, reasons: type[conditions.BoundReason]) -> None:
    assert {reason for kind, reason in WORDS if kind == condition} == set(reasons)
