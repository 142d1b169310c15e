"""Several holds are released at once, with JavaScript and without; what is ticked survives news and a reload."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.journeys.browsing import Person
from tests.journeys.stack import RunningStack

HOLDS = "/tenants/tenant-acme-lab/gpus/"
NAMES = ("bulk-a", "bulk-b")


@pytest.fixture
def holds(stack: RunningStack) -> Iterator[tuple[str, ...]]:
    """Two holds of one L4 each."""
    for name in NAMES:
        claim = {
            "apiVersion": "gpu.cozystack.io/v1alpha1",
            "kind": "GPUClaim",
            "metadata": {"name": name, "namespace": "tenant-acme-lab"},
            "spec": {"className": "l4", "count": 1},
        }
        stack.kubectl("apply", "-f", "-", stdin=json.dumps(claim))
    yield NAMES
    stack.kubectl("delete", "gpuclaim", "-n", "tenant-acme-lab", *NAMES, "--ignore-not-found")


def assert_axe_is_content(page: Page) -> None:
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def ticks(page: Page, *names: str) -> None:
    for name in names:
        page.get_by_label(f"Choose {name}", exact=True).check()


def test_what_is_ticked_stays_ticked_and_is_released_together(
    arrives: Callable[..., Person], stack: RunningStack, kubectl: None, holds: tuple[str, ...]
) -> None:
    page = arrives("admin-acme").goes_to(HOLDS)
    button = page.locator("#release-chosen")
    expect(page.get_by_label(f"Choose {holds[1]}")).to_be_visible()
    expect(button).to_be_disabled()
    ticks(page, *holds)

    with page.expect_response(lambda answer: answer.url.endswith(HOLDS)):
        page.evaluate("htmx.trigger(document.body, 'refresh')")
    expect(button).to_have_text("Release 2 chosen · 2 GPUs")
    page.reload()
    expect(button).to_have_text("Release 2 chosen · 2 GPUs")
    button.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Release 2 holds?")
    assert_axe_is_content(page)
    dialog.get_by_role("button", name="Release 2 GPUs").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("2 holds released")
    assert_axe_is_content(page)
    for name in holds:
        expect(page.get_by_role("row").filter(has_text=name)).to_contain_text("Given back.")


def test_they_are_released_together_without_javascript(
    arrives: Callable[..., Person], stack: RunningStack, kubectl: None, holds: tuple[str, ...]
) -> None:
    person = arrives("admin-acme", java_script_enabled=False)
    page = person.goes_to(HOLDS)
    while page.get_by_label(f"Choose {holds[1]}").count() == 0:
        page.reload()
    ticks(page, *holds)

    page.get_by_role("button", name="Release chosen").click()
    page.get_by_role("button", name="Release 2 GPUs").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("2 holds released")
