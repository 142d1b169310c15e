"""Picture every page: ``python -m tests.journeys.screenshots FOLDER``. Light, dark, and as wide as a phone.

With ``--readme FILE`` only the picture of the README is made.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser

from tests.journeys import browsing
from tests.journeys import stack as stacks
from tests.journeys.browsing import Person
from tests.journeys.pages import PAGES, PageOf
from tests.journeys.stack import RunningStack

LOOKS: Final[dict[str, tuple[Literal["light", "dark"], int, int]]] = {
    "light": ("light", 1280, 800),
    "dark": ("dark", 1280, 800),
    "390": ("light", 390, 844),
}


def picture(
    browser: Browser, stack: RunningStack, pages: tuple[PageOf, ...], look: str, folder: Path
) -> None:
    theme, width, height = LOOKS[look]
    people: dict[str | None, Person] = {}
    for page in pages:
        if page.who not in people:
            context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": height})
            people[page.who] = Person(context, stack)
            if page.who:
                people[page.who].signs_in(page.who)
        opened = people[page.who].goes_to(page.path)
        opened.screenshot(path=folder / f"{page.name}-{look}.png", full_page=True, animations="disabled")
    for person in people.values():
        person.context.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.journeys.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readme", action="store_true", help="only the catalog, as docs/images has it")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)

    with tempfile.TemporaryDirectory() as data, browsing.launched() as browser:
        stack = stacks.start(Path(data) / "run")
        try:
            if arguments.readme:
                catalog = tuple(page for page in PAGES if page.name == "catalog")
                picture(browser, stack, catalog, "light", arguments.folder)
            else:
                for look in LOOKS:
                    picture(browser, stack, PAGES, look, arguments.folder)
        finally:
            stack.stop()
    print(f"Pictures are in {arguments.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
