"""The whole portal as `make run` starts it, in a folder and on ports of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import StorageState

from tests.waiting import until
from tools.run.addresses import HOST, free_ports

ROOT: Final = Path(__file__).resolve().parents[2]
READY_SECONDS: Final = 90.0


@dataclass
class RunningStack:
    """A started portal. Stop it; what it leaves in its folder is the evidence when a test fails."""

    data: Path
    port: int
    process: subprocess.Popen[str]
    settings: Mapping[str, str]
    sessions: dict[str, StorageState] = field(
        default_factory=dict
    )  # browser profiles of who signed in already

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        return self.data / "kubeconfig"

    def pid(self, name: str) -> int:
        """Give the process id that ``name`` has now."""
        return int(json.loads((self.data / "processes.json").read_text())[name])

    def kill(self, name: str) -> None:
        """End a process the hard way and wait until it was started again and everything is ready."""
        before = self.pid(name)
        os.kill(before, signal.SIGKILL)
        until(lambda: self.pid(name) != before, what=f"{name} was started again")
        self.wait_until_ready()

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """Stop a process from answering for a while, as a hung machine would: its connections stay open."""
        pid = self._answering(name)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def _answering(self, name: str) -> int:
        """Give the process that answers: of a real API server it is a child of the one that is supervised."""
        parts = self.data / name / "processes.json"
        return int(json.loads(parts.read_text())["kube-apiserver"]) if parts.exists() else self.pid(name)

    @contextmanager
    def down(self, name: str) -> Iterator[None]:
        """Kill a process and keep it down for a while: its port is closed."""
        self.process.send_signal(signal.SIGSTOP)  # who would start it again
        os.kill(self.pid(name), signal.SIGKILL)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def wait_until_ready(self) -> None:
        until(lambda: _down(self.port) == [], what="everything is ready", seconds=READY_SECONDS)
        until(self.decides_orders, what="the controller decides about orders", seconds=READY_SECONDS)

    def decides_orders(self) -> bool:
        """Try an order that fits, dry."""
        body = {
            "apiVersion": "gpu.cozystack.io/v1alpha1",
            "kind": "GPUClaim",
            "metadata": {"namespace": "tenant-globex", "name": "dry"},
            "spec": {"className": "h200-sxm"},
        }
        return self.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(body)).returncode == 0

    def kubectl(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), *arguments]
        home = os.environ | {"HOME": str(self.data)}  # kubectl's discovery cache is this server's own
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, env=home, timeout=60, check=False
        )

    def objects(self, *arguments: str) -> list[dict[str, Any]]:
        """List objects as the cluster's administrator."""
        answer = self.kubectl("get", *arguments, "-o", "json")
        assert answer.returncode == 0, answer.stderr
        items: list[dict[str, Any]] = json.loads(answer.stdout)["items"]
        return items

    def apply(self, *bodies: dict[str, Any]) -> None:
        for body in bodies:
            answer = self.kubectl("apply", "-f", "-", stdin=json.dumps(body))
            assert answer.returncode == 0, answer.stderr

    def stop(self) -> None:
        self._end(within_seconds=20)

    def restart(self, *, stop_within_seconds: float = 20) -> None:
        """Stop everything and start again on the same data."""
        self._end(within_seconds=stop_within_seconds)
        self.process = _started(self.data, self.port, self.settings)
        self.wait_until_ready()

    def _end(self, *, within_seconds: float) -> None:
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=within_seconds)
        assert self.process.returncode == 0, output


def start(data: Path, **settings: str) -> RunningStack:
    """Start a portal with the demo cluster and wait until everything is ready. ``settings`` go into the environment."""
    (port,) = free_ports(1)
    stack = RunningStack(data, port, _started(data, port, settings), settings)
    stack.wait_until_ready()
    return stack


def _started(data: Path, port: int, settings: Mapping[str, str]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.run", "--port", str(port), "--data", str(data)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "DEMO": "1", **settings},
    )
    try:
        until(
            lambda: process.poll() is not None or _down(port) == [], what="it is ready", seconds=READY_SECONDS
        )
        assert process.poll() is None, process.communicate()[0]
    except BaseException:
        process.terminate()
        raise
    return process


def _down(port: int) -> list[str] | None:
    """Give what is down, None when nobody answers."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/readyz", timeout=5):  # our own http address
            return []
    except urllib.error.HTTPError as error:
        with error:
            return list(json.load(error)["down"])
    except OSError:
        return None
