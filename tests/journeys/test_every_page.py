"""What holds for every page: it opens, nothing is hidden from a screen reader, nothing runs off a phone's screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.journeys.browsing import Person
from tests.journeys.pages import PAGES, PageOf
from tests.journeys.stack import RunningStack

PHONE = {"width": 390, "height": 844}
Theme = Literal["light", "dark"]


def opened(
    arrives: Callable[..., Person], browser: Browser, stack: RunningStack, page: PageOf, theme: Theme
) -> Page:
    if page.who is None:
        person = Person(browser.new_context(color_scheme=theme), stack)
        return person.goes_to(page.path)
    return arrives(page.who, color_scheme=theme).goes_to(page.path)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page_of", PAGES, ids=lambda page: page.name)
def test_axe_finds_nothing(
    arrives: Callable[..., Person], browser: Browser, stack: RunningStack, page_of: PageOf, theme: Theme
) -> None:
    page = opened(arrives, browser, stack, page_of, theme)

    results = Axe().run(page)

    assert results.violations_count == 0, results.generate_report()
    page.context.close()


@pytest.mark.parametrize("page_of", PAGES, ids=lambda page: page.name)
def test_a_phone_needs_no_sideways_scroll(
    arrives: Callable[..., Person], browser: Browser, stack: RunningStack, page_of: PageOf
) -> None:
    page = opened(arrives, browser, stack, page_of, "light")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]  # a ViewportSize

    too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    assert too_wide <= 0
    page.context.close()


def test_the_pages_are_the_pages(arrives: Callable[..., Person]) -> None:
    """Every address in the list but the one that says so is a page of its own, not an error."""
    hoster, alice = arrives("hoster"), arrives("alice")
    for page in PAGES:
        if page.who is None or page.name == "not-found":
            continue
        person = hoster if page.path.startswith("/hoster/") else alice
        answer = person.page.goto(person.stack.url + page.path)
        assert answer is not None
        assert answer.status == 200, page.path
