"""What the journeys stand on: one portal and one browser for all of them, a portal of its own for who breaks things."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.journeys import browsing
from tests.journeys import stack as stacks
from tests.journeys.browsing import Person
from tests.journeys.stack import RunningStack

HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the journeys last: the browser's event loop is in nobody's way there, and the small tests fail first."""
    items.sort(key=lambda item: HERE in item.path.parents)
    for item in items:
        if HERE in item.path.parents and "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """The portal with its demo cluster. Leave it as you found it."""
    running = stacks.start(tmp_path_factory.mktemp("portal"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def fragile_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """A portal of this module's own, to break things in."""
    running = stacks.start(tmp_path_factory.mktemp("fragile"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with browsing.launched() as running:
        yield running


@pytest.fixture
def arrives(browser: Browser, stack: RunningStack) -> Iterator[Callable[..., Person]]:
    """Call with a name: somebody signed in, with a browser profile of their own. Any error on their pages fails."""
    people: list[Person] = []

    def arrive(name: str, **options: Any) -> Person:
        person = browsing.arrives(browser, stack, name, **options)
        people.append(person)
        return person

    yield arrive
    for person in people:
        person.context.close()
    assert [trouble for person in people for trouble in person.troubles] == []
