"""How long to wait before the next attempt: exponential, with full jitter so that clients do not come back in step."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from kube.errors import KubeError


@dataclass
class Backoff:
    """Counts the failures in a row. ``random`` gives numbers from 0 to 1."""

    first_seconds: float = 0.2
    longest_seconds: float = 10.0
    random: Callable[[], float] = random.random
    failures: int = field(default=0, init=False)

    def next_seconds(self, error: KubeError | None = None) -> float:
        """Give the next wait: what the server asked for where it did, else a random part of the growing limit."""
        limit = min(self.longest_seconds, self.first_seconds * float(1 << min(self.failures, 32)))
        self.failures += 1
        asked = error.retry_after_seconds if error is not None else None
        return min(asked or 0, 6 * self.longest_seconds) + limit * self.random()

    def reset(self) -> None:
        self.failures = 0
