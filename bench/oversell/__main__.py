"""The checker's run: ``python -m bench.oversell --cluster real --orders 100000``.

Ends with 0 only when all six counts are zero and the load kept its planned rate: a run below it is void, as it proves nothing.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import psutil
import uvloop

from bench.oversell.arena import Arena, Settings, arena, fill, start_and_publish
from bench.oversell.figures import Figures
from bench.oversell.paces import (
    ALONE,
    BURST,
    FLOOR,
    ORDERS,
    PODS_OF_SCHEDULER,
    REFUSED,
    WAITING,
    Pace,
    floor,
    orders,
    pods,
    refusals,
)
from bench.oversell.plan import Plan
from controller.names import CONFIG_NAME
from kube import config
from kube.aio import AsyncGateway
from kube.errors import Unavailable
from kube.kinds import WEBHOOKS
from tests.kube.servers import RunningServer, start_dev_server, start_real_server

T = TypeVar("T")

KEPT_SHARE = 0.95
"""Of the planned rate, and of the orders, that have to be sent in time and answered; below, a run is void."""

TURNS: Final = 2
"""How often kube-scheduler's pods and our orders are measured, the ones after the others."""


@dataclass
class Outcome:
    """What a run came to. ``due`` and ``begun`` are orders of the timetable, until the load stopped; races come on top."""

    settings: Settings
    seconds: float
    due: int
    begun: int
    orders: int
    agreed_after: float | None
    emptied_after: float | None
    unanswered: int
    slowest: float

    @property
    def is_void(self) -> bool:
        """Nothing is proved by a run that fell behind, nor on a machine on which an answer takes longer than a picture may be old."""
        return (
            self.begun < self.due * KEPT_SHARE
            or self.unanswered > self.orders * (1 - KEPT_SHARE)
            or self.slowest > self.settings.sight_seconds
        )


async def run_load(running: Arena, *, seconds: float, orders: int) -> Outcome:
    """Load, rest, empty: the part of a run that is judged."""
    tenants = running.tenants
    took, begun = await running.load(seconds, orders=orders)
    due, placed = tenants.arrived, tenants.orders
    unanswered = tenants.outcomes[Unavailable.__name__]
    agreed_after = await running.rest()
    emptied_after = await running.empty()
    return Outcome(
        running.settings,
        took,
        due,
        begun,
        placed,
        agreed_after,
        emptied_after,
        unanswered=unanswered,
        slowest=running.figures.percentile("admitted, from sending", 99) / 1000,
    )


def report(running: Arena, outcome: Outcome) -> str:
    """Tell of a run in lines."""
    checker, refusals = running.checker, running.checker.refusals
    lines = [
        f"{outcome.orders} orders in {outcome.seconds:.0f} s; of {outcome.due} in the timetable ({outcome.due / outcome.seconds:.1f}/s, "
        f"planned {outcome.settings.rate:.1f}/s) {outcome.begun} were begun in time"
        + (
            " -- VOID: below its planned rate, too many without an answer, or too slow a machine"
            if outcome.is_void
            else ""
        ),
        f"{checker.events} events seen, {checker.bound} binds, {running.unrest.changes} changes of nodes, offers and budgets, "
        f"{running.last_unit.races} races for the last unit ({running.last_unit.sold} sold), "
        f"{running.last_of_budget.races} for the last of a budget ({running.last_of_budget.sold} sold)",
        f"refusals: {refusals.judged} of orders that fitted, {refusals.excused} of orders that did not at some moment; "
        f"{refusals.watched} orders were followed",
        "answers: " + ", ".join(f"{name} {count}" for name, count in running.tenants.outcomes.most_common()),
        f"agreed {_after(outcome.agreed_after)} the load ended; nothing left {_after(outcome.emptied_after)} everything was given back",
        f"watches of the checker lost and listed anew: {running.feed.losses}",
        "open loop, counted from when the order was due:",
        *(
            running.figures.line(name, over_seconds=outcome.seconds)
            for name in (
                "admitted",
                "bound",
                "refused",
                "admitted as dry run",
                "race: refused",
                "race: bound",
            )
        ),
        "from sending:",
        *(running.figures.line(f"{name}, from sending") for name in ("admitted", "refused")),
        f"findings: {checker.findings}",
        *checker.findings.words,
    ]
    return "\n".join(lines)


def _after(seconds: float | None) -> str:
    return "never after" if seconds is None else f"{seconds:.2f} s after"


async def measure(server: RunningServer, work: Callable[[AsyncGateway], Awaitable[T]]) -> T:
    """Do the work over connections of its own, so that each is measured in the same way."""
    async with AsyncGateway.connect(config.load(server.kubeconfig), pool_size=64) as gateway:
        return await work(gateway)


async def run(options: argparse.Namespace, folder: Path) -> int:
    plan = Plan(nodes=options.nodes, tenants=options.tenants)
    settings = Settings(
        rate=options.rate,
        life_seconds=options.life,
        sight_seconds=options.sight,
        seed=options.seed,
        plan=plan,
    )
    print(
        f"{options.cluster} API server, no fsync; {plan.nodes} nodes, 20 classes, {plan.tenants} tenants, 64 clients; "
        f"{psutil.cpu_count()} processors for everything; seed {options.seed}",
        flush=True,
    )
    paces, pace = Figures(), Pace(options.alone, options.waiting, options.burst)
    with ExitStack() as stack:
        companions = ("kube-scheduler",) if options.scheduler else ()
        server = (
            start_real_server(folder / "server", companions=companions)
            if options.cluster == "real"
            else start_dev_server(folder / "server")
        )
        stack.callback(server.kill)
        await fill(server, plan)
        floors = [await measure(server, lambda gateway: floor(gateway, paces, pace))]
        controller = await start_and_publish(server, folder / "controller", plan)
        stack.callback(lambda: controller.kill())  # whichever runs then
        scheduled, bound = [], []
        # By turns, in the same cluster, so that what the machine does besides hits both alike.
        for _ in range(TURNS):
            if companions:
                # Alone: to a controller its pods would be somebody else's units.
                controller.kill()
                await measure(server, lambda gateway: gateway.delete(WEBHOOKS, CONFIG_NAME))
                os.kill(server.pid_of("kube-scheduler"), signal.SIGCONT)
                scheduled.append(await measure(server, lambda gateway: pods(gateway, paces, pace)))
                os.kill(server.pid_of("kube-scheduler"), signal.SIGSTOP)  # it watches what we change
                controller = await start_and_publish(server, folder / "controller", plan)
            bound.append(await measure(server, lambda gateway: orders(gateway, paces, pace)))
        await measure(server, lambda gateway: refusals(gateway, paces, pace))
        async with arena(server, settings) as running:
            outcome = await run_load(running, seconds=options.seconds, orders=options.orders)
            print(report(running, outcome), flush=True)
            memory = psutil.Process(controller.process.pid).memory_info().rss / 2**20
            await running.gateway.delete(WEBHOOKS, CONFIG_NAME)
            controller.kill()
        floors.append(await measure(server, lambda gateway: floor(gateway, paces, pace)))
    for phase in (ALONE, WAITING, BURST):
        print(phase.strip())
        for name in (
            f"{FLOOR}: create",
            f"{FLOOR}: both",
            f"{PODS_OF_SCHEDULER}: create",
            f"{PODS_OF_SCHEDULER}: bound",
            f"{ORDERS}: create",
            f"{ORDERS}: bound",
            REFUSED,
        ):
            if paces.count(phase + name):
                print(paces.line(phase + name))
    for number, phase in enumerate((WAITING, BURST)):
        done = f"{_rates(floors, number)} pairs/s without us, {_rates(bound, number)} orders bound/s"
        if companions:
            done += f", {_rates(scheduled, number)} pods bound/s by kube-scheduler"
        print(phase + done)
    print(f"controller's resident memory: {memory:.0f} MiB")
    return 1 if running.checker.findings.total or outcome.is_void else 0


def _rates(runs: Sequence[tuple[float, float]], number: int) -> str:
    """Name the least and the most of a figure that was measured several times."""
    rates = [run[number] for run in runs]
    return f"{min(rates):.0f}-{max(rates):.0f}"


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cluster", choices=("dev", "real"), default="dev")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--orders", type=int, default=0, help="go on until there were so many")
    parser.add_argument("--rate", type=float, default=20, help="orders a second")
    parser.add_argument("--life", type=float, default=40, help="seconds a claim is held on average")
    parser.add_argument("--sight", type=float, default=2, help="seconds the controller may be behind")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=1000)
    parser.add_argument("--waiting", type=int, default=800)
    parser.add_argument("--burst", type=int, default=500)
    parser.add_argument(
        "--scheduler",
        action="store_true",
        help="measure kube-scheduler beside it (real only; built at first use)",
    )
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(argv)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="oversell-") as folder:
        return uvloop.run(run(_arguments(None), Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
