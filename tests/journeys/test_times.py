"""Times are the viewer's: relative, with the absolute one in the title, in the zone of the browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from tests.journeys.browsing import Person

TOKYO = ZoneInfo("Asia/Tokyo")


@pytest.mark.parametrize("path", ["/tenants/tenant-acme/gpus/train-1/", "/tenants/tenant-acme/history/"])
def test_a_title_is_in_the_zone_of_the_browser(arrives: Callable[..., Person], path: str) -> None:
    page = arrives("alice", timezone_id="Asia/Tokyo", locale="en-GB").goes_to(path)

    event = page.locator(".timeline time, td[data-label=When] time").first
    at = datetime.fromisoformat(event.get_attribute("datetime") or "").replace(tzinfo=UTC)

    there = at.astimezone(TOKYO)
    words = rf"(?=.*\b{there.day} {there:%b %Y})(?=.*{there:%H:%M:%S})(?=.*GMT\+9)"
    expect(event).to_have_attribute("title", re.compile(words))
    expect(event).to_have_text(re.compile(r"( ago|just now)$"))
