"""A form that comes back by the back button and is sent again: the same order, whatever became of the name in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.builders import a_class
from tests.claims.test_views_order import HOLDS, ORDER, order
from tests.fixtures.live import Live
from tests.fixtures.rest import Rest

As = Callable[..., Rest]


def names(live: Live) -> list[str]:
    return sorted(claim.metadata.name for claim in live.claims())


@pytest.fixture
def offered(live: Live) -> Live:
    live.put(a_class())
    live.sync()
    return live


def test_a_form_sent_again_under_another_name_is_the_same_order(rest: As, offered: Live) -> None:
    alice = rest("alice").client
    alice.post(ORDER, order(name="train"))

    again = alice.post(ORDER, order(name="l40s-0123"), follow=True)

    assert again.redirect_chain == [(HOLDS, 302)]
    assert "placed already, as train" in again.content.decode()
    assert names(offered) == ["train"]


def test_a_form_sent_again_for_something_else_is_another_order(rest: As, offered: Live) -> None:
    alice = rest("alice").client
    alice.post(ORDER, order(name="train"))

    alice.post(ORDER, order(name="more", count="1"))

    assert names(offered) == ["more", "train"]


def test_the_back_button_finds_the_form_that_was_sent(rest: As, offered: Live) -> None:
    answer = rest("alice").client.get(ORDER)

    assert answer.headers["Cache-Control"] == "private, no-cache"
