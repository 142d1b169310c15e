"""The supervisor of `make run`: what it does before, while and after its children run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tools.run import addresses
from tools.run.__main__ import _banner
from tools.run.addresses import CannotStart
from tools.run.children import Child
from tools.run.clusters import Cluster
from tools.run.stack import Stack

ROOT = Path(__file__).resolve().parents[2]


def until(is_true: Callable[[], bool], *, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def a_child(tmp_path: Path, code: str) -> Child:
    return Child("sleeper", [sys.executable, "-c", code], environment=dict(os.environ), logs=tmp_path)


def test_ports_are_chosen_once_and_kept(tmp_path: Path) -> None:
    with addresses.opened(tmp_path / "data", fresh=False) as data:
        first = addresses.ports_of(data)
    with addresses.opened(tmp_path / "data", fresh=False) as data:
        assert addresses.ports_of(data) == first


def test_a_kept_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with addresses.opened(tmp_path / "data", fresh=False) as data, socket.socket() as other:
        ports = addresses.ports_of(data)
        other.bind((addresses.HOST, ports.api))
        other.listen()

        with pytest.raises(CannotStart, match=str(ports.api)):
            addresses.ports_of(data)


def test_a_folder_serves_one_run_at_a_time(tmp_path: Path) -> None:
    with (
        addresses.opened(tmp_path, fresh=False),
        pytest.raises(CannotStart, match="Another"),
        addresses.opened(tmp_path, fresh=False),
    ):
        raise AssertionError("both got it")


def test_a_fresh_start_empties_a_folder_of_ours(tmp_path: Path) -> None:
    with addresses.opened(tmp_path, fresh=False) as data:
        addresses.ports_of(data)
        data.database.write_text("old")

    with addresses.opened(tmp_path, fresh=True) as data:
        assert not data.database.exists()


def test_a_fresh_start_leaves_a_folder_that_is_not_ours_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")

    with pytest.raises(CannotStart, match="left alone"), addresses.opened(tmp_path, fresh=True):
        raise AssertionError("it was opened")

    assert (tmp_path / "thesis.txt").exists()


def test_a_busy_port_is_a_clear_error_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind((addresses.HOST, 0))
        other.listen()
        port = other.getsockname()[1]

        command = [sys.executable, "-m", "tools.run", "--port", str(port), "--data", str(tmp_path / "data")]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)

    assert ended.returncode == 1
    assert f"Port {port} is taken" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "data").exists()


def test_a_child_that_dies_is_noticed_and_due_again(tmp_path: Path) -> None:
    child = a_child(tmp_path, "import time; time.sleep(600)")
    child.start()
    assert child.pid is not None

    os.kill(child.pid, signal.SIGKILL)

    until(lambda: child.exit_code() is not None)
    assert child.died() == -signal.SIGKILL
    assert child.died() is None
    until(child.is_due)


def test_a_child_that_ignores_the_signal_is_killed_with_its_own_children(tmp_path: Path) -> None:
    grandchild = "import subprocess, sys, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    grandchild += "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
    child = a_child(tmp_path, grandchild + "print(p.pid, flush=True); time.sleep(600)")
    child.start()
    until(lambda: child.log.read_text().endswith("\n"))
    pid = int(child.log.read_text())

    child.terminate()
    child.wait(until=time.monotonic() + 0.3)

    assert child.exit_code() == -signal.SIGKILL
    until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_children_die_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; from pathlib import Path; from tools.run.children import Child; "
        "c = Child('sleeper', [sys.executable, '-c', 'import time; time.sleep(600)'], environment=dict(os.environ), "
        "logs=Path(sys.argv[1])); c.start(); print(c.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())

        parent.kill()

    until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_no_login_is_printed_unless_this_is_a_demo(tmp_path: Path) -> None:
    with addresses.opened(tmp_path, fresh=False) as data:
        ports = addresses.ports_of(data)
        demo, bare = (Stack(data, ports, 8000, Cluster("dev"), is_demo=is_demo) for is_demo in (True, False))

    assert "alice" in _banner(demo, seconds=1.0)
    assert "alice" not in _banner(bare, seconds=1.0)
    assert "password" not in _banner(bare, seconds=1.0)
