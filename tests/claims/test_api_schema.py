from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fixtures.rest import Rest, problem

As = Callable[..., Rest]


def document(rest: As) -> dict[str, Any]:
    response = rest("bob").client.get("/api/schema/", headers={"Accept": "application/json"})
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


def test_every_resource_of_the_contract_is_documented(rest: As) -> None:
    paths = document(rest)["paths"]

    assert {path: sorted(found) for path, found in paths.items()} == {
        "/api/v1/classes/": ["get", "post"],
        "/api/v1/classes/{name}/": ["delete", "get", "patch", "put"],
        "/api/v1/nodes/": ["get"],
        "/api/v1/nodes/{name}/": ["get"],
        "/api/v1/claims/": ["get"],
        "/api/v1/tenants/": ["get"],
        "/api/v1/tenants/{ns}/claims/": ["get", "post"],
        "/api/v1/tenants/{ns}/claims/{name}/": ["delete", "get"],
        "/api/v1/tenants/{ns}/budget/": ["get"],
        "/api/v1/tenants/{ns}/events/": ["get"],
    }


def test_every_reference_leads_somewhere(rest: As) -> None:
    found = document(rest)

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*(references(inner) for inner in value.values()))
        if isinstance(value, list):
            return set().union(*(references(inner) for inner in value))
        return set()

    known = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert references(found) <= known
    assert {"#/components/schemas/GPUClass", "#/components/schemas/Problem"} <= references(found)


def test_shapes_are_the_models_own(rest: As) -> None:
    shapes = document(rest)["components"]["schemas"]

    assert shapes["GPUClaimSpec"]["properties"]["count"] | {"description": ""} == {
        "type": "integer",
        "minimum": 1,
        "maximum": 2147483647,
        "default": 1,
        "description": "",
    }


def test_errors_are_documented_as_problems(rest: As) -> None:
    post = document(rest)["paths"]["/api/v1/tenants/{ns}/claims/"]["post"]

    refused = post["responses"]["409"]["content"]["application/problem+json"]["schema"]
    assert refused == {"$ref": "#/components/schemas/Problem"}
    assert {parameter["name"] for parameter in post["parameters"]} == {"ns", "dryRun", "Idempotency-Key"}


def test_the_document_is_for_those_who_are_signed_in(rest: As) -> None:
    problem(rest(None).client.get("/api/schema/"), 401)


@pytest.mark.parametrize("path", ["/api/docs/", "/api/docs/?script="])
def test_the_page_is_served_from_here_alone(rest: As, path: str) -> None:
    response = rest("bob").client.get(path)

    assert response.status_code == 200
    assert b"http://" not in response.content
    assert b"https://" not in response.content
