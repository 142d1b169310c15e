"""Contract: kinds that are defined at run time, from their first object to their last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kube.kinds import CRDS, Kind, Opaque
from tests.kube.wire import APPLY, JSON_PATCH, Wire

Widgets = Kind[Opaque]

HELD = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}, "spec": {"size": 1}}


def definition(kind: Widgets) -> dict[str, Any]:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {"type": "object", "properties": {"size": {"type": "integer"}, "free": free}}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Cluster",
            "names": {"plural": kind.plural, "kind": kind.name},
            "versions": [version],
        },
    }


def has(condition: str) -> Callable[[dict[str, Any]], bool]:
    """Tell whether an event is about a definition of which the condition is true."""

    def is_true(event: dict[str, Any]) -> bool:
        conditions = event["object"].get("status", {}).get("conditions") or ()
        return any((entry["type"], entry["status"]) == (condition, "True") for entry in conditions)

    return is_true


def wait_until(
    wire: Wire, kind: Widgets, happened: Callable[[dict[str, Any]], bool], *, after: str = ""
) -> None:
    """Follow the definition to an event; from a resourceVersion on, where one is given."""
    options = {"fieldSelector": f"metadata.name={kind.plural}.{kind.group}"}
    with wire.watch(CRDS.path(), **options, **({"resourceVersion": after} if after else {})) as events:
        while not happened(events.next()):
            """Something else happened."""


@pytest.fixture
def widgets(wire: Wire, name: str) -> Iterator[Widgets]:
    """A kind that is served, with a number in its spec, and a part for anything."""
    kind = Kind(f"{name}.example.com", "v1", "widgets", "Widget", False, Opaque)
    assert wire.create(CRDS, definition(kind)).code == 201
    wait_until(wire, kind, has("Established"))
    yield kind
    wire.delete(CRDS, f"widgets.{kind.group}")


def test_a_kind_defined_at_run_time_is_served(wire: Wire, widgets: Widgets) -> None:
    wrong = wire.create(widgets, {"metadata": {"name": "w"}, "spec": {"size": "big"}})
    right = wire.create(widgets, {"metadata": {"name": "w"}, "spec": {"size": 3}})

    assert (wrong.code, right.code) == (422, 201)


@pytest.mark.parametrize(
    ("old", "new"), [(1, True), (False, 0), (2, 2.0), ({"a": [1]}, {"a": [True]}), (1.5, "1.5")]
)
def test_a_value_of_another_type_is_a_change(wire: Wire, widgets: Widgets, old: Any, new: Any) -> None:
    created = wire.create(widgets, {"metadata": {"name": "w"}, "spec": {"free": {"x": old}}}).json

    changed = wire.patch(widgets, "w", {"spec": {"free": {"x": new}}}).json

    assert changed["spec"]["free"]["x"] == new
    assert isinstance(changed["spec"]["free"]["x"], bool) is isinstance(new, bool)
    assert changed["metadata"]["generation"] == 2
    assert changed["metadata"]["resourceVersion"] != created["metadata"]["resourceVersion"]


def test_keys_in_another_order_are_no_change(wire: Wire, widgets: Widgets) -> None:
    body = {"metadata": {"name": "w"}, "spec": {"free": {"b": 1, "a": {"d": 1.5, "c": None}}, "size": 1}}
    created = wire.create(widgets, body).json

    created["spec"] = {"size": 1, "free": {"a": {"c": None, "d": 1.5}, "b": 1}}
    same = wire.put(widgets, created).json

    assert same["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


def test_a_value_of_the_wrong_type_is_judged_even_where_it_equals_the_old_one(
    wire: Wire, widgets: Widgets
) -> None:
    wire.create(widgets, {"metadata": {"name": "w"}, "spec": {"size": 1}})

    assert wire.patch(widgets, "w", {"spec": {"size": True}}).code == 422


def test_a_json_patch_tests_for_the_type_too(wire: Wire, widgets: Widgets) -> None:
    wire.create(widgets, {"metadata": {"name": "w"}, "spec": {"size": 1}})

    def tested(value: Any) -> int:
        test = {"op": "test", "path": "/spec", "value": {"size": value}}
        return wire.patch(widgets, "w", [test], content_type=JSON_PATCH).code

    assert [tested(1), tested(True)] == [200, 422]


def test_a_kind_that_goes_takes_nothing_new(wire: Wire, widgets: Widgets) -> None:
    wire.create(widgets, HELD)
    wire.delete(CRDS, f"widgets.{widgets.group}")
    wait_until(wire, widgets, has("Terminating"))
    new = {"apiVersion": widgets.api_version, "kind": "Widget", "metadata": {"name": "new"}}

    created = wire.create(widgets, new)
    applied = wire.patch(widgets, "new", new, content_type=APPLY, fieldManager="test")
    changed = wire.patch(widgets, "held", {"spec": {"size": 2}})
    wire.patch(widgets, "held", {"metadata": {"finalizers": []}})

    for refused in (created, applied):
        assert refused.code == 403
        assert refused.json["message"] == (
            f'widgets.{widgets.group} "new" is forbidden: create not allowed while custom resource definition '
            "is terminating"
        )
    assert changed.json["spec"] == {"size": 2}


def test_a_kind_goes_with_the_last_object_that_was_held(wire: Wire, widgets: Widgets) -> None:
    wire.create(widgets, HELD)
    wire.create(widgets, {"metadata": {"name": "free"}, "spec": {"size": 1}})
    wire.delete(CRDS, f"widgets.{widgets.group}")
    going = wire.get(CRDS, f"widgets.{widgets.group}").json

    wire.patch(widgets, "held", {"metadata": {"finalizers": []}})
    version = going["metadata"]["resourceVersion"]
    wait_until(wire, widgets, lambda event: event["type"] == "DELETED", after=version)

    while wire.page(widgets).code != 404:
        """A real API server serves a kind for a moment after its end."""

    assert going["metadata"]["deletionTimestamp"]
    assert wire.get(CRDS, f"widgets.{widgets.group}").code == 404
