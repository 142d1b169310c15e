"""Fifty want the last unit at the same time, through the REST API and through kubectl: one gets it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browsing import Person
from tests.journeys.rest import Client
from tests.journeys.stack import RunningStack
from tests.waiting import until

ROUNDS = 20
AT_ONCE = 50
THROUGH_KUBECTL = 6
TENANT = "tenant-acme"
RESOURCE = "example.com/LAST_ONE"

pytestmark = [pytest.mark.usefixtures("kubectl"), pytest.mark.timeout(600)]


@pytest.fixture
def last_unit(stack: RunningStack) -> Iterator[str]:
    """An offer of which there is one unit."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "last-1", "labels": {"kubevirt.io/schedulable": "true"}},
        "status": {
            "capacity": {RESOURCE: "1"},
            "allocatable": {RESOURCE: "1"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
        },
    }
    offer = {
        "apiVersion": "gpu.cozystack.io/v1alpha1",
        "kind": "GPUClass",
        "metadata": {"name": "last-unit"},
        "spec": {
            "vendor": "example",
            "model": "Last",
            "mode": "passthrough",
            "source": {"devicePlugin": {"resourceName": RESOURCE}},
        },
    }
    stack.apply({key: value for key, value in node.items() if key != "status"}, offer)
    patched = stack.kubectl(
        "patch",
        "node",
        "last-1",
        "--subresource=status",
        "--type=merge",
        "-p",
        json.dumps({"status": node["status"]}),
    )
    assert patched.returncode == 0, patched.stderr
    until(lambda: free(stack) == 1, what="the unit is on offer")
    yield "last-unit"
    for claim in of_the_class(stack, "last-unit"):
        stack.kubectl("delete", "gpuclaim", "-n", TENANT, claim["metadata"]["name"])
    stack.kubectl("delete", "gpuclass", "last-unit")
    stack.kubectl("delete", "node", "last-1")


def free(stack: RunningStack) -> int | None:
    for body in stack.objects("gpuclasses"):
        if body["metadata"]["name"] == "last-unit":
            answer: int | None = body.get("status", {}).get("free")
            return answer
    return None


def test_exactly_one_of_fifty_gets_the_last_unit(stack: RunningStack, last_unit: str) -> None:
    alice = Client(stack, "alice", connections=AT_ONCE)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(ROUNDS):
            answers = one_round(stack, alice, pool, number=number)

            assert answers.count("admitted") == 1, f"round {number}: {answers}"
            assert answers.count("NoCapacity") == AT_ONCE - 1, f"round {number}: {answers}"
            (winner,) = of_the_class(stack, last_unit)
            name = winner["metadata"]["name"]
            assert name == f"r{number}-{answers.index('admitted')}"
            assert alice.release(TENANT, name)[0] < 300
            until(lambda: free(stack) == 1, what="the unit is free again")


def one_round(stack: RunningStack, alice: Client, pool: ThreadPoolExecutor, *, number: int) -> list[str]:
    start = Barrier(AT_ONCE)
    return list(pool.map(lambda index: one_order(stack, alice, start, f"r{number}-{index}"), range(AT_ONCE)))


def of_the_class(stack: RunningStack, name: str) -> list[dict[str, Any]]:
    return [body for body in stack.objects("gpuclaims", "-n", TENANT) if body["spec"]["className"] == name]


def one_order(stack: RunningStack, alice: Client, start: Barrier, name: str) -> str:
    """Order one unit as soon as everybody is there; give "admitted" or the reason of the refusal."""
    is_kubectl = int(name.rsplit("-", 1)[1]) < THROUGH_KUBECTL
    start.wait(timeout=60)
    return through_kubectl(stack, name) if is_kubectl else through_rest(alice, name)


def through_rest(alice: Client, name: str) -> str:
    status, body = alice.order(TENANT, name, class_name="last-unit")
    if status == 201:
        return "admitted"
    assert status == 409, body
    return ",".join(refusal["reason"] for refusal in body["reasons"])


def through_kubectl(stack: RunningStack, name: str) -> str:
    body = {
        "apiVersion": "gpu.cozystack.io/v1alpha1",
        "kind": "GPUClaim",
        "metadata": {"namespace": TENANT, "name": name},
        "spec": {"className": "last-unit", "count": 1},
    }
    answer = stack.kubectl(
        "create", "--as=alice", "--as-group=tenant-acme-use", "-f", "-", stdin=json.dumps(body)
    )
    if answer.returncode == 0:
        return "admitted"
    assert "(NoCapacity)" in answer.stderr, answer.stderr
    return "NoCapacity"


def test_of_two_browsers_one_gets_the_last_unit_and_one_is_told_the_numbers(
    stack: RunningStack, last_unit: str, arrives: Callable[..., Person]
) -> None:
    pages = [
        arrives(name).goes_to(f"/tenants/{TENANT}/order/?class={last_unit}")
        for name in ("alice", "admin-acme")
    ]
    for page in pages:
        expect(page.get_by_text("Fits now")).to_be_visible()

    for page in pages:
        page.evaluate("() => { setTimeout(() => document.querySelector('#order-button').click()) }")

    def winners() -> list[Page]:
        pages[0].wait_for_timeout(50)  # lets the browser tell where its pages are
        return [page for page in pages if "/gpus/" in page.url]

    (winner,) = until(winners, what="one of them has an order")
    (loser,) = (page for page in pages if page is not winner)
    expect(loser.get_by_text("You ask for 1. None is free.").first).to_be_visible()
    assert len(of_the_class(stack, last_unit)) == 1
