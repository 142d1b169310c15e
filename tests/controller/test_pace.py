"""How often the numbers of offers are written: soon in a short rush, in turn when orders go on and on."""

from __future__ import annotations

import pytest

from controller.pace import Pace


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(rush=20, lasting=5, allowance=60, round_seconds=4, clock=clock)


def tire(pace: Pace, *, keys: int = 1) -> None:
    for _ in range(60):
        pace.pause_after_run(keys)


def test_a_short_rush_is_written_as_often_as_can_be(pace: Pace) -> None:
    assert [pace.pause_after_run(2) for _ in range(60)] == [2 / 20] * 60


@pytest.mark.parametrize(("keys", "a_second"), [(1, 5), (20, 5), (40, 10), (80, 20), (500, 20)])
def test_what_goes_on_is_written_less_often_yet_each_within_a_round(
    pace: Pace, keys: int, a_second: float
) -> None:
    tire(pace)

    assert pace.pause_after_run(keys) == keys / a_second


def test_a_quiet_while_allows_the_next_rush(pace: Pace, clock: Clock) -> None:
    tire(pace)

    clock.now += 1
    after_a_second = [pace.pause_after_run(1) for _ in range(6)]
    clock.now += 3600
    after_an_hour = [pace.pause_after_run(1) for _ in range(61)]

    assert after_a_second == [1 / 20] * 5 + [1 / 5]
    assert after_an_hour == [1 / 20] * 60 + [1 / 5], "no more is saved than one rush"


def test_what_is_written_no_more_often_than_lasts_is_never_held_back(pace: Pace, clock: Clock) -> None:
    tire(pace)

    for _ in range(500):
        clock.now += 0.21
        assert pace.pause_after_run(1) == 1 / 20
