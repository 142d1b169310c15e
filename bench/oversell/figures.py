"""Latencies by what happened, and how they are told."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import quantiles


@dataclass
class Figures:
    """Seconds by name. A latency counts from when the call was due, so a late client does not flatter the server."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, seconds: float) -> None:
        self.seconds[name].append(seconds)

    def count(self, name: str) -> int:
        return len(self.seconds[name])

    def percentile(self, name: str, percent: int) -> float:
        """Give it in milliseconds; of nothing it is 0."""
        seconds = self.seconds[name]
        if len(seconds) < 2:
            return seconds[0] * 1000 if seconds else 0.0
        return quantiles(seconds, n=100, method="inclusive")[percent - 1] * 1000

    def line(self, name: str, *, over_seconds: float | None = None) -> str:
        rate = f"{self.count(name) / over_seconds:8.1f}/s" if over_seconds else " " * 10
        return (
            f"  {name:48} {self.count(name):8} {rate}  p50 {self.percentile(name, 50):8.1f} ms"
            f"  p99 {self.percentile(name, 99):8.1f} ms"
        )
