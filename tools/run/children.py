"""One child process: started on a leash, kept alive, stopped with all it started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_LOG_LIMIT_BYTES: Final = 10_000_000
_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 5.0
_STEADY_AFTER_SECONDS: Final = 10.0
_libc = ctypes.CDLL(None, use_errno=True)


class Child:
    """A process that is to run until it is stopped. Its output goes to a log file."""

    def __init__(
        self, name: str, command: Sequence[str], *, environment: Mapping[str, str], logs: Path
    ) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        self._command = list(command)
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._start_again_at = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT_BYTES:
            self.log.replace(self.log.with_suffix(".log.old"))
        parent = os.getpid()

        def on_a_leash() -> None:
            # The kernel kills the child when this process dies in whatever way; valkey-server would otherwise live on.
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                process_group=0,  # Ctrl-C at the terminal reaches the supervisor alone
                preexec_fn=on_a_leash,
            )
        self._started_at = time.monotonic()

    def exit_code(self) -> int | None:
        """Give how it ended, None while it runs."""
        return self._process.poll() if self._process else None

    def died(self) -> int | None:
        """Notice an end once: give its exit code and set the time to start again."""
        code = self.exit_code()
        if code is None or self._process is None:
            return None
        now = time.monotonic()
        if now - self._started_at > _STEADY_AFTER_SECONDS:
            self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._start_again_at = now + self._pause_seconds
        self._pause_seconds = min(self._pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
        self._signal_group(signal.SIGKILL)
        self._process = None
        return code

    def is_due(self) -> bool:
        """Say whether it is down and its pause is over."""
        return self._process is None and time.monotonic() >= self._start_again_at

    def terminate(self) -> None:
        self._signal_group(signal.SIGTERM)

    def wait(self, *, until: float) -> None:
        """Wait for its end; kill it and what it started when the time is over."""
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=max(0.0, until - time.monotonic()))
        self._signal_group(signal.SIGKILL)
        self._process.wait()

    def last_words(self, lines: int = 12) -> str:
        """Give the end of its log."""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - 8_000))
            text = log.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def _signal_group(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return  # all of it is gone already
