"""A real controller process against a running API server, for every suite that needs one."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 30.0


class Cluster(Protocol):
    """What is needed of a running API server: the kubeconfig of an administrator."""

    @property
    def kubeconfig(self) -> Path: ...


@dataclass
class RunningController:
    """One controller process. ``log`` is its stderr."""

    process: subprocess.Popen[bytes]
    log: Path
    webhook_url: str = ""
    _unread: bytes = field(default=b"", repr=False)

    def wait_for(self, word: str, *, seconds: float = START_SECONDS) -> str:
        """Wait for the line of stdout that starts with the word ("listening", "ready", "following"); give the rest of it."""
        deadline = time.monotonic() + seconds
        while (line := self._next_line(deadline)) is not None:
            if line.startswith(f"{word} "):
                return line.removeprefix(f"{word} ")
        raise AssertionError(
            f"no {word!r} (exit code {self.process.poll()}):\n{self.log.read_text()[-4000:]}"
        )

    def _next_line(self, deadline: float) -> str | None:
        assert self.process.stdout is not None
        while b"\n" not in self._unread:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                return None
            read = os.read(self.process.stdout.fileno(), 4096)
            if not read:
                return None
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode().strip()

    def stop(self) -> None:
        """End it as a supervisor does, with SIGTERM."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut does."""
        self._end(signal.SIGKILL)

    def _end(self, sign: signal.Signals) -> None:
        if self.process.poll() is None:
            self.process.send_signal(sign)
        self.process.wait(timeout=15)
        if self.process.stdout is not None:
            self.process.stdout.close()


def start_controller(
    server: Cluster,
    folder: Path,
    *arguments: str,
    identity: str = "controller",
    wait: bool = True,
) -> RunningController:
    """Start a controller; unless told otherwise wait until it admits orders.

    Its webhook time-out is 1 s, so that a restart is quiet for no longer than that, and a restart under the same identity takes
    its own lease back at once.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{identity}.log"
    command = [
        sys.executable,
        "-m",
        "controller",
        f"--kubeconfig={server.kubeconfig}",
        f"--state={folder / identity}",
        f"--identity={identity}",
        "--webhook-timeout=1",
        *arguments,
    ]
    with log.open("a") as stderr:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
        )
    controller = RunningController(process=process, log=log)
    try:
        controller.webhook_url = controller.wait_for("listening")
        if wait:
            controller.wait_for("ready")
    except BaseException:
        controller.kill()
        raise
    return controller
