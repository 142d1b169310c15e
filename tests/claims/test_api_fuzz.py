"""Requests that nobody would write: none may end in a fault of ours, and every error is a problem."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from tests.builders import a_claim, a_class, a_node
from tests.fixtures.live import Live
from tests.fixtures.rest import Rest

FAULTS = {500, 501, 502, 504}


@pytest.fixture
def api(live: Live, rest: Callable[..., Rest]) -> Any:
    """The documented API of a cluster with an offer, a node and a claim."""
    live.put(a_class("l40s"), a_node("n1"), a_claim("one"))
    live.sync()
    document = rest("hoster").client.get("/api/schema/", headers={"Accept": "application/json"}).json()
    return schemathesis.openapi.from_dict(document)


def test_no_request_ends_in_a_fault_of_ours(api: Any) -> None:
    hoster = Rest("hoster")

    @settings(
        max_examples=4,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case: Any) -> None:
        sent = case.as_transport_kwargs(base_url="http://testserver")
        body = sent.get("json", sent.get("data"))
        response = hoster.client.generic(
            case.method,
            case.formatted_path,
            json.dumps(body) if body is not None else b"",
            content_type="application/json",
            query_params={name: value for name, value in (sent["params"] or {}).items() if value is not None},
            headers={name: value for name, value in sent["headers"].items() if value.isprintable()},
        )
        event = f"{case.method} {case.formatted_path} {sent}: {response.status_code} {response.content!r}"
        assert response.status_code not in FAULTS, event
        if response.status_code >= 400:
            assert response["Content-Type"] == "application/problem+json", event

    for found in api.get_all_operations():
        given(case=found.ok().as_strategy())(check)()
