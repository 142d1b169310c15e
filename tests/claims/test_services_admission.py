"""Orders where a controller admits and binds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from claims.models import OrderEvent
from claims.orders import OrderRefused, OrderSpec, Placed
from claims.services import place_order, release
from kube.kinds import GPU_CLASSES
from portal.models import ClaimRecord
from tests.builders import a_class, a_node
from tests.fixtures.live import Live
from tests.fixtures.on_disk import at_once, on_disk
from tests.fixtures.rest import Rest, problem

As = Callable[..., Rest]
CLAIMS = "tenants/tenant-acme/claims/"
SPEC = OrderSpec(namespace="tenant-acme", class_name="l40s", count=1, name="one", order_key="key-1")


@pytest.fixture
def last_unit(governed: Live) -> Live:
    """A cluster with one GPU."""
    governed.put(a_class("l40s"), a_node("gpu-node-1", gpus=1))
    governed.wait_for(lambda: governed.gateway.get(GPU_CLASSES, "l40s").object.status.free == 1)
    governed.sync()
    return governed


def order(live: Live, spec: OrderSpec = SPEC) -> Placed:
    access, gateway = live.acting("alice")
    return place_order(access=access, gateway=gateway, spec=spec)


def is_bound(live: Live) -> bool:
    claims = live.claims()
    return bool(claims) and all(claim.status.node_name for claim in claims)


def test_an_order_is_bound_and_its_history_tells_so(last_unit: Live) -> None:
    order(last_unit)

    last_unit.wait_for(partial(is_bound, last_unit))
    last_unit.sync()

    assert ClaimRecord.objects.get().phase == "Held"
    events = OrderEvent.objects.order_by("at", "id").values_list("kind", "username", "node_name")
    assert list(events) == [("ordered", "alice", ""), ("bound", "", "gpu-node-1")]


def test_the_retry_of_the_order_that_took_the_last_unit_is_no_refusal(last_unit: Live) -> None:
    first = order(last_unit)
    last_unit.wait_for(partial(is_bound, last_unit))
    ClaimRecord.objects.all().delete()

    again = order(last_unit)

    assert (again.is_new, again.claim.metadata.uid) == (False, first.claim.metadata.uid)
    assert not OrderEvent.objects.filter(kind="refused").exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_who_want_the_last_unit_one_gets_it(last_unit: Live, tmp_path: Path) -> None:
    access, gateway = last_unit.acting("alice")

    def attempt(number: int) -> list[str]:
        spec = replace(SPEC, name=f"claim-{number}", order_key=f"key-{number}")
        try:
            place_order(access=access, gateway=gateway, spec=spec)
        except OrderRefused as refused:
            return [refusal.reason.value for refusal in refused.refusals]
        return []

    with on_disk(tmp_path):
        outcomes = at_once([partial(attempt, number) for number in range(6)])

    assert sorted(outcomes) == [[], *[["NoCapacity"]] * 5]
    assert len(last_unit.claims()) == 1


def test_a_released_unit_can_be_ordered_again(last_unit: Live) -> None:
    access, gateway = last_unit.acting("alice")
    placed = order(last_unit)
    last_unit.wait_for(partial(is_bound, last_unit))

    release(
        access=access,
        gateway=gateway,
        namespace="tenant-acme",
        name="one",
        uid=placed.claim.metadata.uid,
    )

    last_unit.wait_for(lambda: last_unit.gateway.get(GPU_CLASSES, "l40s").object.status.free == 1)
    assert order(last_unit, replace(SPEC, name="two", order_key="key-2")).is_new


def test_a_refusal_reaches_the_caller_with_every_reason_and_number(last_unit: Live, rest: As) -> None:
    body = {"metadata": {"name": "six"}, "spec": {"className": "l40s", "count": 6}}

    dry = problem(rest("alice").send("POST", f"{CLAIMS}?dryRun=All", body), 409)
    final = problem(rest("alice").send("POST", CLAIMS, body), 409)

    assert dry == final
    assert final["reasons"] == [
        {"reason": "NoCapacity", "asked": 6, "free": 1, "message": "You ask for 6. 1 is free."}
    ]
    (event,) = rest("bob").get("tenants/tenant-acme/events/").json()["items"]
    assert (event["type"], event["username"], event["reasons"]) == ("refused", "alice", final["reasons"])


def test_without_a_controller_an_order_is_refused_and_nothing_is_stored(last_unit: Live, rest: As) -> None:
    assert last_unit.controller is not None
    alice, key = rest("alice"), {"Idempotency-Key": "once"}
    body = {"metadata": {"name": "one"}, "spec": {"className": "l40s"}}

    with last_unit.controller.away():
        response = alice.send("POST", CLAIMS, body, headers=key)
        refused = problem(response, 409)

    assert [reason["reason"] for reason in refused["reasons"]] == ["CapacityUnknown"]
    assert int(response["Retry-After"]) > 0
    assert last_unit.claims() == []
    assert alice.send("POST", CLAIMS, body, headers=key).status_code == 201
