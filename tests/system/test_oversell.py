"""A whole cluster under load: nothing is sold twice, lost, leaked or refused although it fits.

On a real API server two minutes with 1,000 nodes; on the dev server a smaller cluster for a few seconds. `make soak` runs long.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.oversell.__main__ import report, run_load
from bench.oversell.arena import Settings, arena, fill, start_and_publish
from bench.oversell.plan import Plan
from tests.kube.servers import RunningServer

SMALL = Settings(rate=12, life_seconds=6, race_seconds=5, plan=Plan(nodes=100, tenants=100))
LARGE = Settings(rate=20, life_seconds=40)
FOLLOWED_SHARE = 0.25
"""Of the orders of the timetable, impossible ones among them: as many have to be such that a refusal would be found wrong."""


@pytest.mark.timeout(600)
async def test_under_load_all_six_counts_stay_at_zero(own_server: RunningServer, tmp_path: Path) -> None:
    settings, seconds = (LARGE, 120.0) if own_server.is_real else (SMALL, 20.0)
    await fill(own_server, settings.plan)

    with ExitStack() as stack:
        controller = await start_and_publish(own_server, tmp_path / "controller", settings.plan)
        stack.callback(controller.kill)
        async with arena(own_server, settings) as running:
            outcome = await run_load(running, seconds=seconds, orders=0)
            told = report(running, outcome)

    print(told)
    assert not running.checker.findings.total, told
    assert not outcome.is_void, told
    assert running.checker.bound > seconds, told
    assert running.last_unit.sold, told
    assert running.last_of_budget.sold, told
    assert running.checker.refusals.watched > outcome.due * FOLLOWED_SHARE, told
