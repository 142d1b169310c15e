"""Contract: what is read of a body before any schema is asked, and what is said of what cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube.kinds import GPU_CLAIMS
from tests.kube.orders import a_claim
from tests.kube.wire import Answer, Wire

CANNOT = 'GPUClaim in version "v1alpha1" cannot be handled as a GPUClaim: '
STRICT = f"{CANNOT}strict decoding error: "


def sent(wire: Wire, namespace: str, body: bytes | dict[str, Any]) -> Answer:
    """Try to create, strictly and dry."""
    options = {"fieldValidation": "Strict", "dryRun": "All"}
    return wire.send("POST", GPU_CLAIMS.path(namespace=namespace), body, **options)


def a_body(**changes: Any) -> dict[str, Any]:
    return {"apiVersion": GPU_CLAIMS.api_version, "kind": "GPUClaim", **a_claim("one"), **changes}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"className": "l40s"', '"className": "a", "className": "b"', 'duplicate field "spec.className"'),
        ('"name": "one"', '"name": "one", "name": "two"', 'duplicate field "metadata.name"'),
        (
            '"className": "l40s"',
            '"z": 1, "className": "a", "className": "b", "a": 1',
            'duplicate field "spec.className", unknown field "spec.a", unknown field "spec.z"',
        ),
        ('"name": "one"', '"name": "one", "nick": "1"', 'unknown field "metadata.nick"'),
        ('"kind"', '"status": {"free": 1}, "kind"', 'unknown field "status.free"'),
    ],
)
def test_what_is_given_twice_or_known_to_nobody_is_refused_when_asked_to(
    wire: Wire, namespace: str, old: str, new: str, told: str
) -> None:
    answer = sent(wire, namespace, json.dumps(a_body()).replace(old, new, 1).encode())

    assert answer.code == 400
    assert answer.json["message"] == STRICT + told


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ([], "json: cannot unmarshal array into Go value of type v1.ObjectMeta"),
        ({"name": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        (
            {"name": "a", "labels": []},
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        (
            {"name": "a", "labels": {"a": True}},
            "json: cannot unmarshal bool into Go struct field ObjectMeta.labels of type string",
        ),
        (
            {"name": "a", "finalizers": [5]},
            "json: cannot unmarshal number into Go struct field ObjectMeta.finalizers of type string",
        ),
        (
            {"name": "a", "creationTimestamp": "x"},
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
        ),
    ],
)
def test_metadata_of_another_type_is_told(wire: Wire, namespace: str, metadata: Any, told: str) -> None:
    answer = sent(wire, namespace, a_body(metadata=metadata))

    assert answer.code == 400
    assert answer.json["message"] == CANNOT + told


@pytest.mark.parametrize("kind", [None, ""])
def test_a_custom_object_says_its_kind(wire: Wire, namespace: str, kind: str | None) -> None:
    answer = sent(wire, namespace, a_body(kind=kind))

    assert answer.code == 400
    assert "Object 'Kind' is missing in" in answer.json["message"]


def test_another_kind_is_invalid(wire: Wire, namespace: str) -> None:
    answer = sent(wire, namespace, a_body(kind="GPUNode"))

    assert answer.code == 422
    assert answer.causes == [("FieldValueInvalid", "kind", 'Invalid value: "GPUNode": must be GPUClaim')]


def test_broken_text_is_mended(wire: Wire, namespace: str) -> None:
    body = json.dumps(a_body(metadata={"name": "one", "annotations": {"a": "HERE"}}))

    half = sent(wire, namespace, body.replace("HERE", "\\ud800").encode())
    invalid = sent(wire, namespace, body.encode().replace(b"HERE", b"\xff"))

    assert half.json["metadata"]["annotations"] == {"a": "\ufffd"}
    assert invalid.json["metadata"]["annotations"] == {"a": "\ufffd"}


def test_a_finalizer_of_no_domain_brings_a_warning(wire: Wire, namespace: str) -> None:
    answer = sent(wire, namespace, a_body(metadata={"name": "one", "finalizers": ["hold"]}))

    assert answer.code == 201
    assert 'metadata.finalizers: \\"hold\\": prefer a domain-qualified finalizer' in answer.headers["warning"]


def test_an_owner_is_named_whole(wire: Wire, namespace: str) -> None:
    answer = sent(wire, namespace, a_body(metadata={"name": "one", "ownerReferences": [{"kind": "Pod"}]}))

    assert sorted(cause[1] for cause in answer.causes) == [
        "metadata.ownerReferences.apiVersion",
        "metadata.ownerReferences.name",
        "metadata.ownerReferences.uid",
    ]


@pytest.mark.parametrize("letter", ["\n", "\r", "\0", "\t", "\x7f", "\x85"])
def test_a_warning_that_no_header_can_carry_is_left_out(wire: Wire, namespace: str, letter: str) -> None:
    body = a_claim("one", **{f"a{letter}b": 1, "plain": 1})

    answer = wire.create(GPU_CLAIMS, body, namespace=namespace)

    assert answer.code == 201
    assert answer.headers["warning"] == '299 - "unknown field \\"spec.plain\\""'


def test_a_warning_is_told_in_any_language(wire: Wire, namespace: str) -> None:
    answer = wire.create(GPU_CLAIMS, a_claim("one", größe=1), namespace=namespace)

    # Headers are read as latin-1.
    told = answer.headers["warning"].encode("latin-1").decode()
    assert told == '299 - "unknown field \\"spec.größe\\""'
