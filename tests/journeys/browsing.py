"""A real Chromium, and people who sign in with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, StorageState, sync_playwright

from tests.journeys.stack import RunningStack

PASSWORD: Final = "demo"
_FLAGS: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_or_skip() -> str:
    """Give Chromium's path. Without one: skip, or fail where BROWSER=required."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path:
        return path
    reason = "needs Chromium: none on the PATH, and CHROMIUM names none (Debian: apt-get install chromium)"
    if os.environ.get("BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def launched() -> Iterator[Browser]:
    """Run a browser; every test gets contexts, that is fresh profiles, of it."""
    executable = chromium_or_skip()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=_FLAGS)
        yield browser
        browser.close()


class Person:
    """Somebody with a browser profile of their own. What goes wrong in the console of their pages is kept."""

    def __init__(self, context: BrowserContext, stack: RunningStack) -> None:
        self.context = context
        self.stack = stack
        self.troubles: list[str] = []
        self.page = self.new_page()

    def new_page(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on(
            "console",
            lambda line: self.troubles.append(line.text) if _is_policy_violation(line.text) else None,
        )
        return page

    def goes_to(self, path: str) -> Page:
        self.page.goto(self.stack.url + path)
        return self.page

    def signs_in(self, name: str, *, page: Page | None = None) -> Page:
        """Sign in; on ``page``, where the login is shown already."""
        page = page or self.goes_to("/login/")
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda url: "/login/" not in url)
        return page


def _is_policy_violation(text: str) -> bool:
    return "Content Security Policy" in text


def arrives(browser: Browser, stack: RunningStack, name: str, **options: Any) -> Person:
    """Give a person who is signed in. ``options`` are those of a browser profile, such as java_script_enabled."""
    person = Person(browser.new_context(**options, storage_state=_session(browser, stack, name)), stack)
    person.goes_to("/")
    return person


def _session(browser: Browser, stack: RunningStack, name: str) -> StorageState:
    """Sign in once for each name: hashing a password takes longer than most stories."""
    if name not in stack.sessions:
        context = browser.new_context()
        Person(context, stack).signs_in(name)
        stack.sessions[name] = context.storage_state()
        context.close()
    return stack.sessions[name]
