"""Best fit beside spread and random placement, on the job sizes of a public trace.

    python -m bench.placement [--keep 0.06 0.03] [--seed 4]

Replays the openb trace (GPU jobs with arrival and departure) on the trace's own nodes, of which only a part is kept: the whole
cluster was never full, and an empty one tells nothing. A job that asks for a part of a GPU counts as one unit. An order that
does not fit when it arrives is refused and does not come back. ``fragmented`` are those refused although enough units were free
in all; ``8x now`` is how many orders of eight could have started, averaged over the arrivals.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gpu.buckets import Buckets

SHARED = Path(os.environ.get("GPU_PORTAL_SHARED", Path(__file__).parents[2] / "shared"))
TRACE = SHARED / "data" / "openb"
PODS = "openb_pod_list_default.csv"
BIG = 8

Choose = Callable[[Buckets, int], str | None]


class Job(NamedTuple):
    arrives: int
    leaves: int
    units: int


class Outcome(NamedTuple):
    orders: int
    refused: int
    fragmented: int
    refused_big: int
    unit_hours: float
    big_now: float


def read_nodes(path: Path) -> list[tuple[str, int]]:
    with path.open(newline="") as lines:
        return [(row["sn"], int(row["gpu"])) for row in csv.DictReader(lines) if int(row["gpu"]) > 0]


def read_jobs(path: Path) -> list[Job]:
    with path.open(newline="") as lines:
        return sorted(
            Job(int(row["creation_time"]), int(row["deletion_time"]), int(row["num_gpu"]))
            for row in csv.DictReader(lines)
            if int(row["num_gpu"]) > 0 and row["creation_time"] and row["deletion_time"]
        )


def best(buckets: Buckets, units: int) -> str | None:
    return buckets.best(units)


def spread(buckets: Buckets, units: int) -> str | None:
    free, node = min(((-free, node) for node, free in buckets.free_of.items()), default=(0, ""))
    return node if -free >= units else None


def at_random(chance: random.Random) -> Choose:
    def choose(buckets: Buckets, units: int) -> str | None:
        fitting = [node for node, free in buckets.free_of.items() if free >= units]
        return chance.choice(fitting) if fitting else None

    return choose


def replay(nodes: list[tuple[str, int]], jobs: list[Job], choose: Choose) -> Outcome:
    """Let the jobs come and go; departures of a moment come before its arrivals."""
    buckets = Buckets()
    for node, units in nodes:
        buckets.put(node, units)
    running: dict[int, str] = {}
    events = sorted(
        [(job.arrives, 1, number) for number, job in enumerate(jobs)]
        + [(job.leaves, 0, number) for number, job in enumerate(jobs) if job.leaves > job.arrives]
    )
    refused = fragmented = refused_big = big_seen = 0
    lost = 0.0
    for _, is_arrival, number in events:
        job = jobs[number]
        if not is_arrival:
            if number in running:
                left = running.pop(number)
                buckets.put(left, buckets.free_of[left] + job.units)
            continue
        big_seen += sum(free // BIG for free in buckets.free_of.values())
        chosen = choose(buckets, job.units)
        if chosen is not None:
            if job.leaves > job.arrives:
                buckets.put(chosen, buckets.free_of[chosen] - job.units)
                running[number] = chosen
            continue
        refused += 1
        fragmented += buckets.total >= job.units
        refused_big += job.units >= BIG
        lost += job.units * (job.leaves - job.arrives) / 3600
    return Outcome(len(jobs), refused, fragmented, refused_big, lost, big_seen / len(jobs))


def main() -> int:
    parser = argparse.ArgumentParser(description="Best fit beside spread and random placement.")
    parser.add_argument(
        "--keep", type=float, nargs="+", default=[0.06, 0.04, 0.03, 0.02], help="part of the nodes to keep"
    )
    parser.add_argument("--seed", type=int, default=4)
    given = parser.parse_args()
    nodes_file = TRACE / "openb_node_list_gpu_node.csv"
    if not nodes_file.exists():
        print(f"Skipped, no trace at {TRACE}. Set GPU_PORTAL_SHARED to the folder that holds data/openb.")
        return 0
    all_nodes = read_nodes(nodes_file)
    jobs = read_jobs(TRACE / PODS)
    print(
        f"{PODS}: {len(jobs):,} jobs, {sum(units for _, units in all_nodes):,} units on {len(all_nodes):,} nodes"
    )
    print(
        f"{'nodes kept':>10} {'placement':<10}{'refused':>9}{'of orders':>11}{'fragmented':>12}"
        f"{'of 8x':>7}{'unit hours':>12}{'8x now':>8}"
    )
    for part in given.keep:
        nodes = random.Random(given.seed).sample(all_nodes, int(len(all_nodes) * part))
        for label, choose in (
            ("best fit", best),
            ("random", at_random(random.Random(given.seed))),
            ("spread", spread),
        ):
            seen = replay(nodes, jobs, choose)
            print(
                f"{part:>10.0%} {label:<10}{seen.refused:>9,}{seen.refused / seen.orders:>11.1%}{seen.fragmented:>12,}"
                f"{seen.refused_big:>7,}{seen.unit_hours:>12,.0f}{seen.big_now:>8.1f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
