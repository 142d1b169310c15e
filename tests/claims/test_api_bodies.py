from __future__ import annotations

from typing import Any

import pytest

from claims.bodies import order_from
from portal.api.problems import InvalidBody


def fields_at_fault(body: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidBody) as caught:
        order_from(body, namespace="tenant-acme", order_key="")
    return [cause.field for cause in caught.value.problem.causes]


def claim(name: object = "one", **spec: object) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"className": "l40s", **spec}}


@pytest.mark.parametrize("count", [0, -1, 2**31, "two", "2", 1e308, 1.5, True, [], {}])
def test_a_bad_count_is_named(count: object) -> None:
    assert fields_at_fault(claim(count=count)) == ["spec.count"]


@pytest.mark.parametrize(("count", "want"), [(1, 1), (2.0, 2), (2**31 - 1, 2**31 - 1), (None, 1)])
def test_a_good_count_is_read_as_the_api_server_reads_it(count: object, want: int) -> None:
    assert order_from(claim(count=count), namespace="tenant-acme", order_key="").count == want


@pytest.mark.parametrize("name", ["Capital", "nul\0", "a" * 64, "-dash", "dot.ted", 8, "trailing\n"])
def test_a_bad_name_is_named(name: object) -> None:
    assert fields_at_fault(claim(name)) == ["metadata.name"]


def test_every_fault_is_told_at_once() -> None:
    body = {
        "kind": "GPUClass",
        "metadata": {"name": "A", "namespace": "tenant-globex"},
        "spec": {"count": 0, "setname": "x"},
        "extra": 1,
    }

    assert fields_at_fault(body) == [
        "kind",
        "extra",
        "spec.setname",
        "metadata.namespace",
        "metadata.name",
        "spec.className",
        "spec.count",
    ]


@pytest.mark.parametrize("spec", ["text", 1, [1]])
def test_a_spec_that_is_no_object_is_named(spec: object) -> None:
    assert "spec" in fields_at_fault({"spec": spec})
