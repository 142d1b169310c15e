"""Each process is killed in turn: no hold is lost, nothing is sold twice, and open pages come back by themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.journeys import browsing
from tests.journeys.browsing import Person
from tests.journeys.rest import Client
from tests.journeys.stack import RunningStack
from tests.waiting import until

PROCESSES = ["cluster", "controller", "mirror", "worker", "web", "valkey"]

State = tuple[dict[str, tuple[Any, ...]], dict[str, tuple[int | None, int | None]]]
RESERVED_SECONDS = 45.0

pytestmark = [pytest.mark.usefixtures("kubectl"), pytest.mark.timeout(300)]


def holds(stack: RunningStack) -> dict[str, tuple[Any, ...]]:
    """Who holds what where, as the cluster stores it."""
    found = {}
    for body in stack.objects("gpuclaims", "-A"):
        meta, status = body["metadata"], body.get("status", {})
        attached = status.get("attachedTo", {}).get("name")
        found[f"{meta['namespace']}/{meta['name']}"] = (
            meta["uid"],
            body["spec"],
            status.get("nodeName"),
            status.get("boundAt"),
            attached,
            "deletionTimestamp" in meta,
        )
    return found


def stock(stack: RunningStack) -> dict[str, tuple[int | None, int | None]]:
    return {
        body["metadata"]["name"]: (
            body.get("status", {}).get("free"),
            body.get("status", {}).get("maxFreePerNode"),
        )
        for body in stack.objects("gpuclasses")
    }


def state(stack: RunningStack) -> State:
    return holds(stack), stock(stack)


def orders_and_releases(stack: RunningStack, alice: Client, name: str) -> None:
    """Prove that the whole path works: ordered, bound, seen in the mirror, released, gone."""
    path = f"/api/v1/tenants/tenant-acme/claims/{name}/"
    status, body = alice.order("tenant-acme", name, class_name="h200-sxm")
    assert status == 201, body
    until(
        lambda: "Bound" in str(alice.get(path)[1].get("status", {}).get("conditions")),
        what=f"{name} is bound",
    )
    assert alice.release("tenant-acme", name)[0] < 300
    until(lambda: alice.get(path)[0] == 404, what=f"{name} is gone")


@pytest.fixture(scope="module")
def at_rest(fragile_stack: RunningStack) -> State:
    """The state after the start, to which everything comes back."""
    until(lambda: None not in stock(fragile_stack)["h200-sxm"], what="stock is known")
    return state(fragile_stack)


@pytest.mark.parametrize("name", PROCESSES)
def test_state_is_equal_after_a_kill_and_orders_go_on(
    fragile_stack: RunningStack, at_rest: State, name: str
) -> None:
    alice = Client(fragile_stack, "alice")
    orders_and_releases(fragile_stack, alice, f"before-{name}")
    # An order whose answer came too late for somebody stays reserved for half a minute: until then less is free.
    until(lambda: state(fragile_stack) == at_rest, what="all is at rest", seconds=RESERVED_SECONDS)

    fragile_stack.kill(name)

    until(lambda: state(fragile_stack) == at_rest, what="state is as before", seconds=RESERVED_SECONDS)
    orders_and_releases(fragile_stack, alice, f"after-{name}")
    until(lambda: state(fragile_stack) == at_rest, what="state is as before", seconds=RESERVED_SECONDS)


def test_a_second_start_has_the_same_holds_and_the_same_kubeconfig(fragile_stack: RunningStack) -> None:
    before = holds(fragile_stack), stock(fragile_stack), fragile_stack.kubeconfig.read_text()

    fragile_stack.restart()

    until(
        lambda: (holds(fragile_stack), stock(fragile_stack), fragile_stack.kubeconfig.read_text()) == before,
        what="state is as before",
    )


def test_the_supervisor_stops_everything_within_a_few_seconds(fragile_stack: RunningStack) -> None:
    pids = [fragile_stack.pid(name) for name in PROCESSES]

    fragile_stack.restart(stop_within_seconds=8)

    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


@pytest.fixture
def watcher(browser: Browser, fragile_stack: RunningStack) -> Iterator[Person]:
    """alice with her list of holds open."""
    person = browsing.arrives(browser, fragile_stack, "alice")
    person.goes_to("/tenants/tenant-acme/gpus/")
    yield person
    person.context.close()


@pytest.mark.parametrize("name", ["cluster", "mirror", "web", "valkey"])
def test_an_open_page_comes_back_by_itself(fragile_stack: RunningStack, watcher: Person, name: str) -> None:
    claim = f"seen-after-{name}"
    expect(watcher.page.get_by_role("link", name="notebook", exact=True)).to_be_visible()

    fragile_stack.kill(name)
    fragile_stack.apply(
        {
            "apiVersion": "gpu.cozystack.io/v1alpha1",
            "kind": "GPUClaim",
            "metadata": {"namespace": "tenant-acme", "name": claim},
            "spec": {"className": "h200-sxm"},
        }
    )

    expect(watcher.page.get_by_role("link", name=claim, exact=True)).to_be_visible(timeout=40_000)
    assert fragile_stack.kubectl("delete", "gpuclaim", "-n", "tenant-acme", claim).returncode == 0
    expect(watcher.page.get_by_role("link", name=claim, exact=True)).to_have_count(0, timeout=40_000)
