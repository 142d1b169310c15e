"""When a worker counts as deaf."""

from __future__ import annotations

from portal.deaf_worker import Hearing


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_worker_is_deaf_when_tasks_wait_and_none_is_taken_for_the_limit() -> None:
    clock = Clock()
    hearing = Hearing(limit_seconds=30, clock=clock)

    clock.seconds = 30
    assert not hearing.is_deaf(waiting=1)
    clock.seconds = 31
    assert hearing.is_deaf(waiting=1)


def test_a_worker_that_works_is_not_deaf_however_long_a_task_takes() -> None:
    clock = Clock()
    hearing = Hearing(limit_seconds=30, clock=clock)

    hearing.begin()
    clock.seconds = 300
    assert not hearing.is_deaf(waiting=9)

    hearing.end()
    clock.seconds = 331
    assert hearing.is_deaf(waiting=9)


def test_without_waiting_tasks_or_without_a_broker_nobody_is_deaf() -> None:
    clock = Clock()
    hearing = Hearing(limit_seconds=30, clock=clock)

    for waiting in (0, None):
        clock.seconds += 100
        assert not hearing.is_deaf(waiting=waiting)
    assert not hearing.is_deaf(waiting=5), "it has had no time to take them"
