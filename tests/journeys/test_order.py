"""The main story: alice orders, holds and releases; the hoster, bob and charlie look on. With JavaScript, and without."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from tests.journeys.browsing import Person
from tests.journeys.rest import Client
from tests.journeys.stack import RunningStack

OFFER = "a100-80g"
SPREAD_OUT = "h100-sxm"  # eight free, at most four on one node
VGPU = "l40s-24c"  # no maxCount
HOLDS = "/tenants/tenant-acme/gpus/"
ORDER = "/tenants/tenant-acme/order/"


@dataclass(frozen=True)
class Way:
    """With JavaScript pages change by themselves; without it a person reloads."""

    has_script: bool

    @property
    def name(self) -> str:
        return "with-script" if self.has_script else "plain"

    def sees(self, page: Page, look: Callable[[], None]) -> None:
        """Wait for what ``look`` expects; the page may be reloaded only where nothing else brings news."""
        deadline = time.monotonic() + 15
        while True:
            try:
                look()
            except AssertionError:
                if self.has_script or time.monotonic() > deadline:
                    raise
            else:
                return
            # Only now: a page that is still on its way to the answer cannot be reloaded.
            page.reload()


@pytest.fixture(params=[Way(True), Way(False)], ids=lambda way: way.name)
def way(request: pytest.FixtureRequest) -> Way:
    chosen: Way = request.param
    return chosen


@pytest.fixture
def arrive(arrives: Callable[..., Person], way: Way) -> Callable[[str], Person]:
    return lambda name: arrives(name, java_script_enabled=way.has_script)


@pytest.fixture
def claim(stack: RunningStack, way: Way) -> Iterator[str]:
    """A name for the order; whatever is left of it is taken away."""
    name = f"journey-{way.name}"
    yield name
    stack.kubectl("delete", "gpuclaim", "-n", "tenant-acme", name, "--ignore-not-found")


def free_on(page: Page, offer: str = OFFER) -> Locator:
    return page.locator(f'[data-cell="free-{offer}"]')


def row_of(page: Page, claim: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=claim, exact=True))


def fills(page: Page, *, offer: str, count: int, name: str | None = None) -> None:
    page.get_by_label("Offer", exact=True).select_option(offer)
    page.get_by_label("GPUs", exact=True).fill(str(count))
    if name is not None:
        page.get_by_label("Name", exact=True).fill(name)


def test_alice_orders_holds_and_releases(arrive: Callable[[str], Person], way: Way, claim: str) -> None:
    hoster, alice = arrive("hoster"), arrive("alice")
    stock = hoster.goes_to("/")
    expect(free_on(stock)).to_have_text("4")
    page = alice.goes_to("/")
    page.get_by_role("link", name=re.compile("^Order NVIDIA A100 SXM4 80 GB$")).click()

    fills(page, offer=OFFER, count=2, name=claim)
    if way.has_script:
        expect(page.locator("#verdict .pill").first).to_contain_text("fits", ignore_case=True)
    asked_at = time.monotonic()
    page.locator("#order-button").click()

    page.wait_for_url(f"**{HOLDS}**")
    if not page.url.endswith(HOLDS):
        page.goto(alice.stack.url + HOLDS)
    way.sees(page, lambda: expect(row_of(page, claim)).to_contain_text("Held", timeout=2_000))
    held_after = time.monotonic() - asked_at
    way.sees(stock, lambda: expect(free_on(stock)).to_have_text("2", timeout=2_000))
    assert held_after < 3, "it took far longer than a second"

    row_of(page, claim).get_by_role("link", name=f"Release {claim}").click()
    page.get_by_role("button", name=re.compile("^Release 2 ×")).click()

    way.sees(page, lambda: expect(row_of(page, claim)).to_have_count(0, timeout=2_000))
    way.sees(stock, lambda: expect(free_on(stock)).to_have_text("4", timeout=2_000))


def test_a_hold_appears_without_a_reload_in_under_a_second(
    arrives: Callable[..., Person], stack: RunningStack
) -> None:
    watching, ordering = arrives("alice"), arrives("alice")
    page = watching.goes_to(HOLDS)
    page.evaluate("window.sameDocument = true")
    expect(row_of(page, "notebook")).to_be_visible()
    form = ordering.goes_to(f"{ORDER}?class={OFFER}")
    fills(form, offer=OFFER, count=1, name="seen-live")

    try:
        form.locator("#order-button").click(no_wait_after=True)
        asked_at = time.monotonic()
        expect(row_of(page, "seen-live")).to_contain_text("Held")
        seconds = time.monotonic() - asked_at
    finally:
        stack.kubectl("delete", "gpuclaim", "-n", "tenant-acme", "seen-live", "--ignore-not-found")

    assert seconds < 1.0
    expect(row_of(page, "seen-live")).to_have_count(0)
    assert page.evaluate("window.sameDocument") is True


def test_an_order_that_no_single_node_can_run_is_refused_with_the_numbers(
    arrive: Callable[[str], Person], way: Way, claim: str
) -> None:
    sentence = re.compile(r"8 are free, but no single node has more than 4")
    alice = arrive("alice")
    page = alice.goes_to(f"{ORDER}?class={SPREAD_OUT}")

    fills(page, offer=SPREAD_OUT, count=6, name=claim)
    if not way.has_script:
        page.get_by_role("button", name="Does it fit?").click()
    expect(page.locator("#verdict")).to_contain_text(sentence)

    page.locator("#order-button").click()
    expect(page.get_by_role("alert").filter(has_text=sentence).first).to_be_visible()
    expect(page.locator("#verdict")).to_contain_text(sentence)
    expect(page.get_by_label("GPUs", exact=True)).to_have_value("6")
    expect(row_of(alice.goes_to(HOLDS), claim)).to_have_count(0)


def test_two_of_a_vgpu_offer_without_a_limit_of_its_own_are_refused(
    arrive: Callable[[str], Person], way: Way, claim: str
) -> None:
    sentence = re.compile(r"You ask for 2\. .*(at most|more than) (1|one)", re.IGNORECASE)
    alice = arrive("alice")
    page = alice.goes_to(f"{ORDER}?class={VGPU}")

    fills(page, offer=VGPU, count=2, name=claim)
    page.locator("#order-button").click()

    expect(page.get_by_role("alert").filter(has_text=sentence).first).to_be_visible()
    expect(row_of(alice.goes_to(HOLDS), claim)).to_have_count(0)


def test_bob_sees_the_holds_and_cannot_order_or_release(arrive: Callable[[str], Person]) -> None:
    bob = arrive("bob")
    page = bob.goes_to(HOLDS)

    expect(row_of(page, "notebook")).to_contain_text("Held")
    expect(page.get_by_role("link", name="Order", exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="Release notebook")).to_have_count(0)
    expect(bob.goes_to("/").get_by_role("link", name=re.compile("^Order "))).to_have_count(0)
    answer = bob.page.goto(bob.stack.url + ORDER)
    assert answer is not None
    assert answer.status in (403, 404)


def test_charlie_gets_404_for_whatever_is_alices(arrive: Callable[[str], Person]) -> None:
    charlie = arrive("charlie")

    for path in (
        HOLDS,
        f"{HOLDS}train-1/",
        f"{HOLDS}train-1/release/",
        ORDER,
        "/tenants/tenant-acme/budget/",
    ):
        answer = charlie.page.goto(charlie.stack.url + path)
        assert answer is not None
        assert answer.status == 404, path
        expect(charlie.page.get_by_text("train-1")).to_have_count(0)


def test_no_tenant_opens_the_hosters_pages(arrive: Callable[[str], Person]) -> None:
    alice = arrive("alice")

    for path in ("/hoster/", "/hoster/offers/", "/hoster/nodes/", "/hoster/nodes/hgx-h100-1/"):
        answer = alice.page.goto(alice.stack.url + path)
        assert answer is not None
        assert answer.status == 404, path


def test_a_change_during_a_slow_refetch_is_shown(arrives: Callable[..., Person], stack: RunningStack) -> None:
    """What is told while an answer is on its way that does not know it yet must not be lost with that answer."""
    page = arrives("hoster").goes_to("/")
    expect(free_on(page)).to_have_text("4")
    alice = Client(stack, "alice")
    kept_back: list[tuple[Route, APIResponse]] = []

    def keep_back(route: Route) -> None:
        if kept_back or route.request.headers.get("hx-target") != "cards":
            route.continue_()
        else:
            kept_back.append((route, route.fetch()))

    def order(name: str) -> None:
        status, body = alice.order("tenant-acme", name, class_name=OFFER)
        assert status == 201, body

    page.route(re.compile(r"/$"), keep_back)
    try:
        order("slow-one")
        wait_until(page, lambda: bool(kept_back))
        order("slow-two")
        wait_until(page, lambda: bound(stack, "slow-two"))
        page.wait_for_timeout(1_000)  # all nudges of both orders have come and gone
        route, answer = kept_back[0]
        route.fulfill(response=answer)

        expect(free_on(page)).to_have_text("2")
    finally:
        for name in ("slow-one", "slow-two"):
            alice.release("tenant-acme", name)


def bound(stack: RunningStack, name: str) -> bool:
    claims = stack.objects("gpuclaims", "-n", "tenant-acme")
    return any(
        claim["metadata"]["name"] == name and claim.get("status", {}).get("nodeName") for claim in claims
    )


def wait_until(page: Page, look: Callable[[], bool]) -> None:
    """Look again and again; the browser goes on meanwhile."""
    deadline = time.monotonic() + 20
    while not look():
        assert time.monotonic() < deadline, "waited in vain"
        page.wait_for_timeout(50)
