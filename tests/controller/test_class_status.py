"""How often the numbers of offers are written: soon when it is quiet, in turn beside orders."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import aclosing

import pytest

from controller.class_status import seconds_between_classes
from kube.kinds import GPU_CLASSES
from kube.watching import EventType, watch
from tests.controller.cluster import Cluster
from tests.controller.processes import RunningController

OFFERS = 12
SECONDS = 2.0


@pytest.mark.parametrize(
    ("waiting", "is_busy", "a_second"),
    [
        (1, False, 20),
        (500, False, 20),
        (1, True, 5),
        (20, True, 5),
        (40, True, 10),
        (80, True, 20),
        (500, True, 20),
    ],
)
def test_beside_orders_fewer_classes_are_written_but_each_within_seconds(
    waiting: int, is_busy: bool, a_second: float
) -> None:
    assert seconds_between_classes(waiting, is_busy=is_busy) == pytest.approx(1 / a_second)


async def test_orders_one_after_the_other_are_not_kept_waiting_by_the_offers_they_change(
    cluster: Cluster, controller: RunningController
) -> None:
    names = ["h100", *(f"also-{number}" for number in range(1, OFFERS))]
    for name in names[1:]:
        await cluster.add_class(name)
    for name in names:
        await cluster.until_free(8, class_name=name)

    written: Counter[str] = Counter()

    async def look() -> None:
        async with aclosing(watch(cluster.gateway, GPU_CLASSES)) as events:
            async for event in events:
                written[event.name] += event.type is EventType.MODIFIED

    looking = asyncio.create_task(look())
    ends_at = time.monotonic() + SECONDS
    while time.monotonic() < ends_at:
        await cluster.order("comes")
        await cluster.until_bound("comes")
        await cluster.release("comes")
    beside_orders = written.total()
    await cluster.order("stays")
    for name in names:
        await cluster.until_free(7, class_name=name)
    looking.cancel()
    await asyncio.wait([looking])

    assert beside_orders <= SECONDS * 10, "half of what could be written else"
