from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controller.outages import Outages
from gpu.corekinds import Node, NodeCondition, NodeStatus, ObjectMeta

NOW = 1000.0
GRACE = 60.0


def a_node(ready: str | None, *, since: datetime | None = None) -> Node:
    conditions = (
        [] if ready is None else [NodeCondition(type="Ready", status=ready, last_transition_time=since)]
    )
    return Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(conditions=conditions))


def test_a_ready_node_is_not_away() -> None:
    outages = Outages(grace_seconds=60)

    outages.saw(a_node("True"), now=NOW)

    assert not outages.is_over("n1", now=NOW + 2 * GRACE)


@pytest.mark.parametrize("ready", ["False", "Unknown", None])
def test_a_node_is_away_once_the_grace_time_has_passed(ready: str | None) -> None:
    outages = Outages(grace_seconds=60)
    outages.saw(a_node(ready), now=NOW)

    assert not outages.is_over("n1", now=NOW + GRACE - 1)
    assert outages.is_over("n1", now=NOW + GRACE)
    assert outages.newly_over(now=NOW + GRACE) == ["n1"]


@pytest.mark.parametrize("off", [timedelta(days=-400), timedelta(days=400)])
def test_clocks_that_are_wrong_make_no_node_look_lost(off: timedelta) -> None:
    outages = Outages(grace_seconds=60)

    outages.saw(a_node("Unknown", since=datetime.now(UTC) + off), now=NOW)

    assert not outages.is_over("n1", now=NOW + GRACE - 1)
    assert outages.is_over("n1", now=NOW + GRACE)


def test_a_heartbeat_of_an_absent_node_does_not_start_the_time_anew() -> None:
    outages = Outages(grace_seconds=60)
    outages.saw(a_node(None), now=NOW)

    outages.saw(a_node(None), now=NOW + GRACE)

    assert outages.is_over("n1", now=NOW + GRACE)


def test_a_node_that_comes_back_in_time_was_never_away() -> None:
    outages = Outages(grace_seconds=60)
    outages.missed("n1", now=NOW)

    outages.saw(a_node("True"), now=NOW + 30)

    assert outages.newly_over(now=NOW + 2 * GRACE) == []


def test_a_node_that_is_gone_is_away_after_the_grace_time_too() -> None:
    outages = Outages(grace_seconds=60)

    outages.missed("n1", now=NOW)

    assert outages.newly_over(now=NOW) == []
    assert outages.newly_over(now=NOW + GRACE) == ["n1"]
    assert outages.newly_over(now=NOW + GRACE) == [], "told once"
