"""A part hangs while people work: what they typed is kept, nothing is stored half, the pages say what they do not know."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys import browsing
from tests.journeys import stack as stacks
from tests.journeys.browsing import Person
from tests.journeys.rest import Client
from tests.journeys.stack import RunningStack
from tests.waiting import until

OFFER = "h200-sxm"
HOLDS = "/tenants/tenant-acme/gpus/"
ORDER = f"/tenants/tenant-acme/order/?class={OFFER}"

pytestmark = [pytest.mark.usefixtures("kubectl"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """A portal that is quick to say that it does not know, and quick to list afresh."""
    running = stacks.start(tmp_path_factory.mktemp("faulty"), STALE_SECONDS="4", SYNC_SECONDS="12")
    yield running
    running.stop()


@pytest.fixture
def alice(browser: Browser, stack: RunningStack) -> Iterator[Person]:
    stack.wait_until_ready()
    person = browsing.arrives(browser, stack, "alice")
    yield person
    person.context.close()


@pytest.fixture
def claim(stack: RunningStack, request: pytest.FixtureRequest) -> Iterator[str]:
    """A name for the order of this test; what is left of it is taken away."""
    name = re.sub("[^a-z0-9]+", "-", request.node.originalname.removeprefix("test_"))[:40].strip("-")
    yield name
    stack.kubectl("delete", "gpuclaim", "-n", "tenant-acme", name, "--ignore-not-found")


def filled(person: Person, claim: str, *, count: int = 1) -> Page:
    page = person.goes_to(ORDER)
    page.get_by_label("GPUs", exact=True).fill(str(count))
    page.get_by_label("Name", exact=True).fill(claim)
    return page


def orders(page: Page) -> None:
    page.locator("#order-button").click()


def names(stack: RunningStack) -> list[str]:
    return [body["metadata"]["name"] for body in stack.objects("gpuclaims", "-n", "tenant-acme")]


def free_of(client: Client) -> Any:
    return client.get(f"/api/v1/classes/{OFFER}/")[1].get("status", {}).get("free")


@pytest.fixture(params=["down", "frozen"])
def broken(
    request: pytest.FixtureRequest, stack: RunningStack
) -> Callable[[str], AbstractContextManager[None]]:
    """Two ways to be gone: the port is closed, or nobody answers on it."""
    way: Callable[[str], AbstractContextManager[None]] = getattr(stack, request.param)
    return way


def test_an_api_server_away_keeps_the_input_and_the_retry_is_one_order(
    stack: RunningStack, broken: Callable[[str], AbstractContextManager[None]], alice: Person, claim: str
) -> None:
    page = filled(alice, claim, count=2)

    with broken("cluster"):
        orders(page)
        expect(page.get_by_role("alert").first).to_be_visible(timeout=30_000)
        expect(page.get_by_label("Name", exact=True)).to_have_value(claim)
        expect(page.get_by_label("GPUs", exact=True)).to_have_value("2")
    stack.wait_until_ready()
    orders(page)

    page.wait_for_url(f"**{HOLDS}**")
    assert names(stack).count(claim) == 1


def test_without_the_controller_an_order_is_refused_and_nothing_is_stored(
    stack: RunningStack, broken: Callable[[str], AbstractContextManager[None]], alice: Person, claim: str
) -> None:
    client = Client(stack, "alice")
    before = names(stack)
    page = filled(alice, claim)

    with broken("controller"):
        orders(page)
        expect(page.get_by_role("alert").first).to_be_visible(timeout=30_000)
        status, body = client.order("tenant-acme", f"{claim}-2", class_name=OFFER)

    assert status in (409, 503), body
    assert [refusal["reason"] for refusal in body["reasons"]] == ["CapacityUnknown"], body
    assert names(stack) == before


def test_an_order_goes_through_while_redis_hangs(stack: RunningStack, alice: Person, claim: str) -> None:
    page = filled(alice, claim)

    with stack.frozen("valkey"):
        orders(page)
        page.wait_for_url(f"**{HOLDS}**", timeout=20_000)

    stack.wait_until_ready()
    assert names(stack).count(claim) == 1


def test_without_redis_orders_work_and_the_page_says_that_live_data_is_lost(
    stack: RunningStack, alice: Person, claim: str
) -> None:
    page = alice.goes_to(HOLDS)
    expect(page.get_by_role("link", name="notebook", exact=True)).to_be_visible()
    client = Client(stack, "alice")

    with stack.down("valkey"):
        status, body = client.order("tenant-acme", claim, class_name=OFFER)
        assert status == 201, body
        expect(page.locator("#stream-lost")).to_be_visible(timeout=40_000)
    stack.wait_until_ready()

    expect(page.get_by_role("link", name=claim, exact=True)).to_be_visible(timeout=40_000)
    expect(page.locator("#stream-lost")).to_be_hidden(timeout=40_000)


def test_without_the_mirror_numbers_become_unknown_and_the_full_sync_still_repairs(
    stack: RunningStack, alice: Person, claim: str
) -> None:
    client = Client(stack, "alice")
    until(lambda: free_of(client) is not None, what="stock is known")

    with stack.frozen("mirror"):
        page = alice.goes_to("/")
        until(lambda: _says_unknown(page), what="the catalog says that it does not know", seconds=30)
        status, body = client.order("tenant-acme", claim, class_name=OFFER)
        assert status == 201, body
        assert stack.kubectl("delete", "gpuclaim", "-n", "tenant-acme", claim).returncode == 0
        path = f"/api/v1/tenants/tenant-acme/claims/{claim}/"
        until(lambda: client.get(path)[0] == 404, what="the full sync noticed the release", seconds=40)
    stack.wait_until_ready()

    until(lambda: not _says_unknown(page), what="the numbers are back", seconds=30)


def _says_unknown(page: Page) -> bool:
    page.reload()
    return page.locator(f"#offer-{OFFER}").get_by_text("Unknown", exact=True).count() > 0


def test_a_double_click_is_one_order(stack: RunningStack, alice: Person, claim: str) -> None:
    page = filled(alice, claim)

    page.locator("#order-button").dblclick()

    page.wait_for_url(f"**{HOLDS}**")
    assert names(stack).count(claim) == 1
    assert page.get_by_role("alert").count() == 0


def test_back_and_submit_again_is_one_order(stack: RunningStack, alice: Person, claim: str) -> None:
    page = filled(alice, claim)
    orders(page)
    page.wait_for_url(f"**{HOLDS}**")
    before = names(stack)

    page.go_back()
    orders(page)

    page.wait_for_url(f"**{HOLDS}**")
    assert names(stack) == before


def test_a_lost_session_stores_nothing_and_asks_to_sign_in(
    stack: RunningStack, alice: Person, claim: str
) -> None:
    page = filled(alice, claim)
    alice.context.clear_cookies()

    orders(page)

    expect(
        page.get_by_role("link", name="Sign in").or_(page.get_by_role("button", name="Sign in")).first
    ).to_be_visible()
    assert claim not in names(stack)


def test_a_session_that_ends_while_somebody_types_costs_nothing_that_was_typed(
    stack: RunningStack, alice: Person, claim: str
) -> None:
    page = filled(alice, claim)
    alice.context.clear_cookies(name="gpu_portal_session")

    page.get_by_label("GPUs", exact=True).fill("2")
    expect(page.locator("#freshness").get_by_role("link", name="sign in")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value(claim)
    orders(page)
    with alice.context.expect_page() as opened:
        page.get_by_role("link", name="Sign in").click()
    alice.signs_in("alice", page=opened.value)
    page.get_by_role("button", name="Send it again").click()

    page.wait_for_url(f"**{HOLDS}**")
    assert names(stack).count(claim) == 1


@pytest.mark.parametrize(
    ("count", "refused"),
    [("0", True), ("-1", True), (str(2**31), True), ("1e308", True), ("1", False)],
    ids=["zero", "negative", "too-big", "huge", "one"],
)
def test_a_count_that_makes_no_sense_is_refused_beside_its_field(
    stack: RunningStack, browser: Browser, claim: str, count: str, refused: bool
) -> None:
    person = browsing.arrives(browser, stack, "alice", java_script_enabled=False)
    page = filled(person, claim)
    page.get_by_label("GPUs", exact=True).fill(count)
    page.locator("form:has(#order-button)").evaluate("form => form.setAttribute('novalidate', '')")

    orders(page)

    if refused:
        expect(page.locator("#count-fault")).to_be_visible()
        assert claim not in names(stack)
    else:
        page.wait_for_url(f"**{HOLDS}**")
    person.context.close()


def test_a_person_who_may_not_cannot_order_through_the_api_either(stack: RunningStack) -> None:
    bob, charlie = Client(stack, "bob"), Client(stack, "charlie")
    asks: list[Callable[[], tuple[int, Any]]] = [
        lambda: bob.order("tenant-acme", "not-bobs", class_name=OFFER),
        lambda: bob.release("tenant-acme", "notebook"),
        lambda: charlie.order("tenant-acme", "not-charlies", class_name=OFFER),
        lambda: charlie.release("tenant-acme", "notebook"),
    ]

    statuses = [ask()[0] for ask in asks]

    assert statuses == [403, 403, 404, 404]
    assert "notebook" in names(stack)
