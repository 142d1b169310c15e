"""Everything is reached by the keyboard: pages, search, help, and an order from beginning to end."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.journeys.browsing import Person
from tests.journeys.stack import RunningStack

HOLDS = "/tenants/tenant-acme/gpus/"


def test_an_order_needs_no_mouse(arrives: Callable[..., Person], stack: RunningStack) -> None:
    page = arrives("alice").goes_to(HOLDS)

    page.keyboard.press("n")
    expect(page.locator("#id_count")).to_be_focused()
    page.locator("#id_class_name").select_option("l4")
    page.locator("#id_count").focus()
    page.keyboard.type("1")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#order-button")).to_have_text("Order 2 × NVIDIA L4")
    expect(page.locator("#id_name")).to_have_value(re.compile(r"^l4-"))
    name = page.locator("#id_name").input_value()
    page.keyboard.press("Enter")

    expect(page.get_by_role("status").filter(has_text=f"Ordered 2 × NVIDIA L4 as {name}.")).to_be_visible()
    release = page.get_by_role("link", name=f"Release {name}", exact=True)
    release.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text(f"Release {name}?")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    release.focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Release 2")).press("Enter")
    expect(page.get_by_role("status").filter(has_text=f"Released {name}.")).to_be_visible()


def test_keys_lead_to_pages_search_and_help(arrives: Callable[..., Person]) -> None:
    person = arrives("admin-acme")
    person.goes_to(HOLDS)  # the tenant that the keys lead to is the one last looked at
    page = person.goes_to("/")

    page.keyboard.press("/")
    expect(page.locator("[data-search]")).to_be_focused()
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("new order")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url(f"**{HOLDS}")
    page.get_by_label("Tenant: tenant-acme").press("Enter")
    page.get_by_role("link", name="tenant-acme-lab", exact=True).press("Enter")
    page.wait_for_url("**/tenants/tenant-acme-lab/gpus/")
    expect(page.get_by_role("link", name="lab-1", exact=True)).to_be_visible()
