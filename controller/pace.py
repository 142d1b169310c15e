"""How often work is done that others have to wait for: often at first, less often when it is wanted without end."""

from __future__ import annotations

from collections.abc import Callable


class Pace:
    """What the keys of a lane share when they are pushed without end: the more of them, the less often each.

    A short rush has ``rush`` runs a second, of which ``allowance`` may be saved up; what goes on for longer has ``lasting`` runs a
    second, or as many as it takes to run each key once in ``round_seconds``, up to those of a rush. The clock gives seconds.
    """

    def __init__(
        self,
        *,
        rush: float,
        lasting: float,
        allowance: float,
        round_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._rush = rush
        self._lasting = lasting
        self._allowance = allowance
        self._round_seconds = round_seconds
        self._clock = clock
        self._saved = allowance
        self._saved_at = clock()

    def pause_after_run(self, keys: int) -> float:
        """Take note of a run; give the seconds until the same key may run again, of so many that are wanted."""
        now = self._clock()
        self._saved = min(self._allowance, self._saved + (now - self._saved_at) * self._lasting)
        self._saved_at = now
        if self._saved >= 1:
            self._saved -= 1
            return keys / self._rush
        return keys / min(self._rush, max(self._lasting, keys / self._round_seconds))
