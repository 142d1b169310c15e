"""The dev server's pure parts, each on its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kube.devserver import protobuf
from kube.devserver.apply import apply
from kube.devserver.defaulting import drop_nulls, fill_defaults, prune
from kube.devserver.history import Change, History, TooOld
from kube.devserver.jsonpath import compiled, first
from kube.devserver.patches import json_patch, merge, strategic
from kube.devserver.schema import Schema
from kube.devserver.status import ApiError
from kube.devserver.store import Record
from kube.devserver.tables import age

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": 1, "b": 2}, {"b": None}, {"a": 1}),
        ({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": "x"}, {"a": {"y": {"z": None}}}, {"a": {"y": {}}}),
    ],
)
def test_a_merge_patch_sets_removes_and_replaces(target: Any, patch: Any, result: Any) -> None:
    assert merge(target, patch) == result


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ({"containers": [{"name": "b", "image": "new"}]}, [{"name": "a"}, {"name": "b", "image": "new"}]),
        ({"containers": [{"name": "a", "$patch": "delete"}]}, [{"name": "b", "image": "old"}]),
        ({"containers": [{"$patch": "replace"}, {"name": "c"}]}, [{"name": "c"}]),
        ({"$setElementOrder/containers": [{"name": "a"}]}, [{"name": "a"}, {"name": "b", "image": "old"}]),
        ({"containers": None}, None),
    ],
)
def test_a_strategic_patch_merges_known_lists_by_key(patch: Any, result: Any) -> None:
    target = {"containers": [{"name": "a"}, {"name": "b", "image": "old"}]}

    assert strategic(target, patch).get("containers") == result


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "add", "path": "/l/-", "value": 3}], {"l": [1, 2, 3]}),
        ([{"op": "add", "path": "/l/0", "value": 0}], {"l": [0, 1, 2]}),
        ([{"op": "replace", "path": "/l/1", "value": 5}], {"l": [1, 5]}),
        ([{"op": "move", "from": "/l/0", "path": "/l/1"}], {"l": [2, 1]}),
        ([{"op": "copy", "from": "/l", "path": "/m~1~0"}], {"l": [1, 2], "m/~": [1, 2]}),
        ([{"op": "remove", "path": "/l"}], {}),
    ],
)
def test_a_json_patch_follows_its_operations(operations: Any, result: Any) -> None:
    assert json_patch({"l": [1, 2]}, operations) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/l/2", "value": 1},
        {"op": "add", "path": "/l/7", "value": 1},
        {"op": "test", "path": "/l/0", "value": 2},
        {"op": "add", "path": "/l/0/x", "value": 1},
        {"op": "jump", "path": "/l"},
        {"op": "add", "path": "l"},
        5,
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused(operation: Any) -> None:
    with pytest.raises(ApiError) as refused:
        json_patch({"l": [1, 2]}, [operation])

    assert refused.value.code in (400, 422)


def test_an_apply_merges_keyed_lists_and_replaces_the_others() -> None:
    items = {"type": "object", "properties": {"type": TEXT, "status": TEXT}}
    keyed = {"type": "array", "items": items, "x-kubernetes-list-map-keys": ["type"]}
    node = {"properties": {"keyed": keyed, "plain": {"type": "array", "items": TEXT}}}
    old = {"keyed": [{"type": "a", "status": "x"}, {"type": "b"}], "plain": ["x"], "kept": 1}

    applied = apply(old, {"keyed": [{"type": "a", "status": "y"}, {"type": "c"}], "plain": ["z"]}, node)

    assert applied == {
        "keyed": [{"type": "a", "status": "y"}, {"type": "b"}, {"type": "c"}],
        "plain": ["z"],
        "kept": 1,
    }


def test_nulls_defaults_and_unknown_fields_are_dealt_with_in_that_order() -> None:
    node = {
        "type": "object",
        "properties": {
            "plain": TEXT,
            "nullable": {**TEXT, "nullable": True},
            "given": {**TEXT, "default": "d"},
            "list": {
                "type": "array",
                "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}},
            },
            "map": {"type": "object", "additionalProperties": TEXT},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    content = {
        "plain": None,
        "nullable": None,
        "given": None,
        "list": [{"x": 1}],
        "map": {"a": "b"},
        "free": {"any": 1},
        "unknown": 1,
    }

    unknown = prune(content, node)
    drop_nulls(content, node)
    fill_defaults(content, node)

    assert unknown == ["list[0].x", "unknown"]
    assert content == {
        "nullable": None,
        "given": "d",
        "list": [{"n": 1}],
        "map": {"a": "b"},
        "free": {"any": 1},
    }


def a_schema(**keywords: Any) -> Schema:
    return Schema({"type": "object", "properties": {"spec": {"type": "object", **keywords}}})


def faults(schema: Schema, spec: Any, old: Any = None) -> list[str]:
    before = None if old is None else {"spec": old}
    return [str(fault) for fault in schema.faults({"spec": spec}, before, already=[])]


def test_a_broken_rule_over_an_unchanged_value_is_let_pass() -> None:
    schema = a_schema(
        properties={"a": TEXT, "b": {**TEXT, "x-kubernetes-validations": [{"rule": "self == 'x'"}]}}
    )

    assert faults(schema, {"a": "new", "b": "old"}, {"a": "old", "b": "old"}) == []
    assert faults(schema, {"b": "new"}, {"b": "old"}) == [
        "spec.b: Invalid value: \"new\": failed rule: self == 'x'"
    ]


def test_a_transition_rule_needs_something_to_compare_with() -> None:
    schema = a_schema(
        properties={"n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}}
    )

    assert faults(schema, {"n": 1}) == []
    assert faults(schema, {"n": 1}, {}) == []
    assert faults(schema, {"n": 1}, {"n": 2}) == ["spec.n: Invalid value: 1: failed rule: self >= oldSelf"]


def test_a_rule_can_word_its_message_and_name_a_reason() -> None:
    rule = {
        "rule": "self.n < 3",
        "messageExpression": "'n is ' + string(self.n)",
        "reason": "FieldValueForbidden",
        "fieldPath": ".n",
    }
    schema = a_schema(properties={"n": {"type": "integer"}}, **{"x-kubernetes-validations": [rule]})

    assert faults(schema, {"n": 5}) == ["spec.n: Forbidden: n is 5"]


def test_a_rule_that_cannot_be_evaluated_is_a_fault() -> None:
    schema = a_schema(
        properties={"n": {"type": "integer"}}, **{"x-kubernetes-validations": [{"rule": "self.n < 3"}]}
    )

    (fault,) = faults(schema, {})

    assert "evaluating rule: self.n < 3" in fault


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.count", [2]),
        ("spec.count", [2]),
        (".status.conditions[?(@.type=='Bound')].status", ["True"]),
        ('.status.conditions[?(@.type=="Other")].status', []),
        (".status.conditions[0].type", ["Bound"]),
        (".status.conditions[*].type", ["Bound", "Ready"]),
        (r".metadata.labels.a\.b/c", []),
        ("{.spec['count']}", [2]),
        (".status.conditions[5].type", []),
    ],
)
def test_a_json_path_finds_what_it_names(path: str, found: list[Any]) -> None:
    content = {
        "spec": {"count": 2},
        "status": {"conditions": [{"type": "Bound", "status": "True"}, {"type": "Ready", "status": "False"}]},
    }

    assert compiled(path.replace("/c", ""))(content) == found


def test_a_json_path_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="not understood"):
        compiled(".a[?(@.b>1)]")
    assert first(".none", {}) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"), (119, "119s"), (120, "2m"), (135, "2m15s"), (599, "9m59s"), (600, "10m"), (10_799, "179m"), (10_800, "3h"),
        (11_000, "3h3m"), (28_800, "8h"), (172_799, "47h"), (172_800, "2d"), (176_400, "2d1h"), (691_200, "8d"),
        (63_072_000, "2y"), (64_000_000, "2y10d"),
    ],
)  # fmt: skip
def test_an_age_is_written_as_kubectl_does(seconds: int, text: str) -> None:
    then = datetime(2026, 1, 1, tzinfo=UTC)

    assert age(then.strftime("%Y-%m-%dT%H:%M:%SZ"), now=then + timedelta(seconds=seconds)) == text


def test_a_history_forgets_its_oldest_changes_and_says_so() -> None:
    history: History[Record] = History(length=4, since=0)
    for version in range(1, 21):
        record = Record(("", f"o{version % 3}"), "u", version, b"{}")
        history.add(Change(version, None, record))

    assert [change.version for change in history.after(18)] == [19, 20]
    assert history.after(20) == []
    with pytest.raises(TooOld):
        history.after(5)


@pytest.mark.parametrize("body", [b"", b"k8s\x00", b"k8s\x00\x0a\xff", b"k8s\x00\x0a\x04\x0a\x02v1", b"{}"])
def test_broken_protobuf_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        protobuf.decode(body)

    assert refused.value.code == 400


def test_protobuf_of_a_kind_nobody_tabled_is_an_unsupported_media_type() -> None:
    with pytest.raises(ApiError) as refused:
        protobuf.decode(b"k8s\x00\x0a\x0b\x0a\x02v1\x12\x05Thing")

    assert refused.value.code == 415
