from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu.resources import Condition, ConditionStatus
from portal.api.paging import token_after
from tests.builders import NOON, a_claim, a_namespace, a_quota
from tests.fixtures.rest import Mirrored, Rest, names, problem

As = Callable[..., Rest]
ACME = "tenants/tenant-acme"


def test_a_tenants_list_holds_its_own_claims_without_nodes(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_claim("one", node="gpu-node-1"), a_claim("two"), a_claim("theirs", namespace="tenant-globex"))

    response = rest("alice").get(f"{ACME}/claims/")

    assert names(response) == ["one", "two"]
    assert response.json()["kind"] == "GPUClaimList"
    assert b"gpu-node-1" not in response.content


def test_the_hoster_sees_every_claim_with_its_node(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_claim("one", node="gpu-node-1"), a_claim("theirs", namespace="tenant-globex"))

    response = rest("hoster").get("claims/")

    assert names(response) == ["one", "theirs"]
    assert response.json()["items"][0]["status"]["nodeName"] == "gpu-node-1"


@pytest.mark.parametrize(
    ("who", "path"),
    [
        ("charlie", f"{ACME}/claims/"),
        ("charlie", f"{ACME}/claims/one/"),
        ("charlie", f"{ACME}/budget/"),
        ("charlie", f"{ACME}/events/"),
        ("stranger", f"{ACME}/claims/"),
        ("alice", f"{ACME}/claims/none/"),
        ("alice", "tenants/tenant-globex/claims/theirs/"),
        ("alice", "tenants/kube-system/claims/"),
        ("hoster", "tenants/nowhere/claims/"),
        ("alice", "claims/"),
        ("alice", "nodes/"),
        ("alice", "nowhere/"),
        ("alice", f"{ACME}/claims/UPPER/"),
    ],
)
def test_what_is_foreign_looks_like_what_is_not_there(
    rest: As, mirrored: Mirrored, who: str, path: str
) -> None:
    mirrored(a_claim("one"), a_claim("theirs", namespace="tenant-globex"))

    problem(rest(who).get(path), 404)


def test_pages_follow_each_other_without_gaps_or_doubles(rest: As, mirrored: Mirrored) -> None:
    wanted = [f"claim-{number:02}" for number in range(7)]
    mirrored(*(a_claim(name) for name in wanted))
    alice, found, token = rest("alice"), [], ""

    while True:
        page = alice.get(f"{ACME}/claims/", {"limit": 3, "continue": token} if token else {"limit": 3})
        found += names(page)
        mirrored(a_claim("claim-00"), a_claim(f"a-{len(found)}"))
        token = page.json()["metadata"].get("continue", "")
        if not token:
            break

    assert found == wanted


def test_pages_of_all_tenants_go_on_in_the_next_tenant(rest: As, mirrored: Mirrored) -> None:
    for namespace in ("tenant-acme", "tenant-globex"):
        mirrored(*(a_claim(name, namespace=namespace) for name in ("a", "b", "c")))
    hoster = rest("hoster")

    first = hoster.get("claims/", limit=4)
    second = hoster.get("claims/", {"limit": 4, "continue": first.json()["metadata"]["continue"]})

    assert names(first) == ["a", "b", "c", "a"]
    assert names(second) == ["b", "c"]
    assert second.json()["metadata"] == {}


def test_claims_are_filtered(rest: As, mirrored: Mirrored) -> None:
    unwell = Condition(
        type="Healthy",
        status=ConditionStatus.FALSE,
        reason="NodeCordoned",
        message="",
        last_transition_time=NOON,
    )
    mirrored(
        a_claim("held", node="n1", set_name="pair"),
        a_claim("used", node="n2", attached_to="vm", of="h100", conditions=[unwell]),
        a_claim("waiting"),
    )
    alice, hoster = rest("alice"), rest("hoster")

    assert names(alice.get(f"{ACME}/claims/", className="h100")) == ["used"]
    assert names(alice.get(f"{ACME}/claims/", setName="pair")) == ["held"]
    assert names(alice.get(f"{ACME}/claims/", phase="In use")) == ["used"]
    assert names(alice.get(f"{ACME}/claims/", healthy="false")) == ["used"]
    assert names(hoster.get("claims/", nodeName="n2")) == ["used"]


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "501"},
        {"limit": "-1"},
        {"limit": "ten"},
        {"limit": "٣"},
        {"limit": "9" * 5000},
        {"limit": "00000000150000000"},
        {"limit": "000000001" + "0" * 5000},
        {"continue": "@@@"},
        {"continue": "W10"},
        {"continue": "eyJhIjoxfQ"},
        {"continue": "é"},
        {"phase": "Gone"},
        {"healthy": "maybe"},
        {"nodeName": "n1"},
        {"classname": "l40s"},
    ],
)
def test_a_query_that_cannot_be_meant_is_an_error(rest: As, query: dict[str, str]) -> None:
    body = problem(rest("alice").get(f"{ACME}/claims/", query), 400)

    assert [cause["field"] for cause in body["causes"]] == [*query]


def test_one_claim_has_an_etag_and_is_not_sent_twice(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_claim("one", node="n1"))
    alice = rest("alice")

    first = alice.get(f"{ACME}/claims/one/")
    again = alice.get(f"{ACME}/claims/one/", headers={"If-None-Match": first["ETag"]})

    assert "nodeName" not in first.json()["status"]
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])


def test_everybody_sees_the_tenants_that_are_theirs(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_namespace("tenant-acme-lab", ancestors=["tenant-acme"]))

    def rights(who: str) -> dict[str, str]:
        return {item["metadata"]["name"]: item["right"] for item in rest(who).get("tenants/").json()["items"]}

    assert rights("alice") == {"tenant-acme": "use", "tenant-acme-lab": "use"}
    assert rights("bob") == {"tenant-acme": "view", "tenant-acme-lab": "view"}
    assert rights("stranger") == {}
    assert rights("hoster") == {"tenant-acme": "admin", "tenant-acme-lab": "admin", "tenant-globex": "admin"}


@pytest.mark.parametrize(
    "at", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-01-01T00:00:00", "2026-01-01"]
)
def test_a_forged_token_with_a_moment_that_cannot_be_is_an_error(
    rest: As, mirrored: Mirrored, at: str
) -> None:
    mirrored(a_claim())

    body = problem(rest("alice").get(f"{ACME}/events/", {"continue": token_after((at, 1))}), 400)

    assert [cause["field"] for cause in body["causes"]] == ["continue"]


def test_a_budget_tells_limits_from_no_limits(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        a_quota({"gpu.cozystack.io/l40s": "4", "requests.gpu.cozystack.io/h100": 0, "count/pods": "1"}),
        a_claim("one", gpus=2),
        a_claim("two", gpus=1, of="a100", releasing=True),
    )

    body = rest("bob").get(f"{ACME}/budget/").json()

    lines: dict[Any, Any] = {line["className"]: line for line in body["status"]["budgets"]}
    assert {name: (line["used"], line["releasing"], line["limit"]) for name, line in lines.items()} == {
        None: (3, 1, None),
        "a100": (1, 1, None),
        "h100": (0, 0, 0),
        "l40s": (2, 0, 4),
    }
    assert lines["l40s"]["quota"] == "tenant-acme/tenant-quota"


def test_events_name_nodes_to_hosters_only(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_claim("one", node="gpu-node-1"))

    shown = rest("alice").get(f"{ACME}/events/")
    told = rest("hoster").get(f"{ACME}/events/")

    assert [event["type"] for event in shown.json()["items"]] == ["bound", "ordered"]
    assert b"gpu-node-1" not in shown.content
    assert told.json()["items"][0]["nodeName"] == "gpu-node-1"


def test_events_are_filtered_and_paged(rest: As, mirrored: Mirrored) -> None:
    mirrored(*(a_claim(f"claim-{number}", node="n1") for number in range(3)))
    alice = rest("alice")

    bound = alice.get(f"{ACME}/events/", type="bound")
    first = alice.get(f"{ACME}/events/", limit=4)
    rest_of_it = alice.get(f"{ACME}/events/", {"continue": first.json()["metadata"]["continue"]})

    assert {event["type"] for event in bound.json()["items"]} == {"bound"}
    assert len(bound.json()["items"]) == 3
    assert len({name for page in (first, rest_of_it) for name in names(page)}) == 6
    problem(alice.get(f"{ACME}/events/", type="never"), 400)


@pytest.mark.parametrize(
    "path", ["classes/", f"{ACME}/claims/", f"{ACME}/budget/", "tenants/", f"{ACME}/events/"]
)
def test_the_number_of_queries_does_not_depend_on_the_number_of_rows(
    rest: As, mirrored: Mirrored, path: str, django_assert_max_num_queries: Any
) -> None:
    mirrored(a_quota({"gpu.cozystack.io/total": "400"}))
    mirrored(*(a_claim(f"claim-{number:03}", node="n1") for number in range(150)))
    alice = rest("alice")

    with django_assert_max_num_queries(10):
        response = alice.get(path)

    assert response.status_code == 200
