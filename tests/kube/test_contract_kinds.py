"""Contract: kinds that are defined at run time, from their first object to their last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kube.kinds import CRDS, Kind, Opaque
from tests.kube.wire import APPLY, Wire

Widgets = Kind[Opaque]

HELD = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}, "spec": {"size": 1}}


def definition(kind: Widgets) -> dict[str, Any]:
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": size}}
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
    """A kind that is served, with one number in its spec."""
    kind = Kind(f"{name}.example.com", "v1", "widgets", "Widget", False, Opaque)
    assert wire.create(CRDS, definition(kind)).code == 201
    wait_until(wire, kind, has("Established"))
    yield kind
    wire.delete(CRDS, f"widgets.{kind.group}")


def test_a_kind_defined_at_run_time_is_served(wire: Wire, widgets: Widgets) -> None:
    wrong = wire.create(widgets, {"metadata": {"name": "w"}, "spec": {"size": "big"}})
    right = wire.create(widgets, {"metadata": {"name": "w"}, "spec": {"size": 3}})

    assert (wrong.code, right.code) == (422, 201)


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
