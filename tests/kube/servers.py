"""An API server in a process of its own, for every test that needs one: the dev server, or a real one.

``start_dev_server(folder)`` and ``start_real_server(folder)`` give a running one; its state is in the folder, so ``kill`` and
``restart`` lose nothing.
"""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
CRDS = ROOT / "deploy" / "crds"
DEV_MODULE = "kube.devserver"
REAL_MODULE = "tools.envtest"
START_SECONDS = 30.0
REAL_START_SECONDS = 120.0


@dataclass
class RunningServer:
    """One server process, with all that it started. The port, and so the kubeconfigs, stay the same over a restart."""

    folder: Path
    options: Sequence[str]
    module: str = DEV_MODULE
    url: str = ""
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def kubeconfig(self) -> Path:
        """Of an administrator (group system:masters)."""
        return self.folder / "kubeconfig"

    def kubeconfig_of(self, user: str) -> Path:
        """Of a user named at the start. A colon of the name is a dash in the file's: in KUBECONFIG it parts two files."""
        return self.folder / f"kubeconfig-{user.replace(':', '-')}"

    @property
    def is_real(self) -> bool:
        return self.module == REAL_MODULE

    def pid_of(self, process: str) -> int:
        """Give the process id of a part of a real server ("etcd", "kube-apiserver"). One that dies is started again."""
        pid: int = json.loads((self.folder / "processes.json").read_text())[process]
        return pid

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def start(self) -> None:
        """Start and wait until it answers."""
        port = self.url.rpartition(":")[2] or "0"
        command = [sys.executable, "-m", self.module, "--data", str(self.folder), "--port", port]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*command, *self.options], cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
            )
        try:
            self.url = self._ready_line().removeprefix("ready ").strip()
        except BaseException:
            self.kill()
            raise

    def _ready_line(self) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        deadline = time.monotonic() + (REAL_START_SECONDS if self.is_real else START_SECONDS)
        if select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))[0]:
            line = self.process.stdout.readline()
            if line.startswith("ready "):
                return line
        raise AssertionError(f"{self.module} did not start:\n{self.log.read_text()[-4000:]}")

    def stop(self) -> None:
        """End it as a supervisor does, with SIGTERM."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut does."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Start it again on the same port and state, after a stop or a kill; stops it first where it still runs."""
        self.stop()
        self.start()

    def _end(self, sign: signal.Signals) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(sign)
        self.process.wait(timeout=20)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None

    def __enter__(self) -> RunningServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_dev_server(
    folder: Path,
    *,
    crds: Path | None = CRDS,
    users: Sequence[str] = (),
    compaction: int | None = None,
) -> RunningServer:
    """Start a dev server with its state in the folder. ``users`` are ``name:group,group``; stop it when done."""
    options: list[str] = []
    if crds is not None:
        options += ["--crds", str(crds)]
    if compaction is not None:
        options += ["--compaction", str(compaction)]
    for user in users:
        options += ["--user", user]
    folder.mkdir(parents=True, exist_ok=True)
    server = RunningServer(folder, tuple(options))
    server.start()
    return server


def start_real_server(
    folder: Path, *, crds: Path | None = CRDS, users: Sequence[str] = (), companions: Sequence[str] = ()
) -> RunningServer:
    """Start kube-apiserver and etcd with their state in the folder, and the companions: kube-scheduler, kwok and the like.

    The parent's death takes all of them along, so ``kill`` ends the lot at once.
    """
    options: list[str] = []
    if crds is not None:
        options += ["--crds", str(crds)]
    for user in users:
        options += ["--user", user]
    for companion in companions:
        options += ["--with", companion]
    folder.mkdir(parents=True, exist_ok=True)
    server = RunningServer(folder, tuple(options), REAL_MODULE)
    server.start()
    return server
