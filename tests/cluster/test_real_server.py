"""The real API server of the tests: its users, its parts, and that nothing of it outlives its parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import urllib3

from kube.kinds import GPU_CLAIMS, NAMESPACES
from tests.kube.orders import a_claim
from tests.kube.servers import ROOT, RunningServer, start_real_server
from tests.kube.wire import Wire

SECONDS = 60.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    started = start_real_server(tmp_path / "server", users=["alice:team-a,team-b"])
    yield started
    started.kill()


def until_it_serves(server: RunningServer, part: str, *, before: int) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            if server.pid_of(part) != before and Wire.connect(server.kubeconfig).page(GPU_CLAIMS).code == 200:
                return
        except urllib3.exceptions.HTTPError:
            assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("part", ["etcd", "kube-apiserver"])
def test_a_part_that_is_killed_comes_back_with_all_that_was_stored(server: RunningServer, part: str) -> None:
    wire, before = Wire.connect(server.kubeconfig), server.pid_of(part)
    assert wire.create(GPU_CLAIMS, a_claim("one"), namespace="default").code == 201

    os.kill(before, signal.SIGKILL)
    until_it_serves(server, part, before=before)

    assert wire.get(GPU_CLAIMS, "one", namespace="default").code == 200


def test_users_have_the_groups_they_were_given_and_no_rights(server: RunningServer) -> None:
    alice = Wire.connect(server.kubeconfig_of("alice"))
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}

    user = alice.send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review).json["status"][
        "userInfo"
    ]

    assert user["username"] == "alice"
    assert {"team-a", "team-b"} <= set(user["groups"])
    assert alice.page(NAMESPACES).code == 403


def test_nothing_outlives_the_parent(server: RunningServer) -> None:
    children = [psutil.Process(server.pid_of(part)) for part in ("etcd", "kube-apiserver")]

    server.kill()

    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


def test_it_does_not_outlive_whoever_started_it(tmp_path: Path) -> None:
    script = "import sys, pathlib; from tests.kube.servers import start_real_server as start; start(pathlib.Path(sys.argv[1]))"

    subprocess.run([sys.executable, "-c", script, str(tmp_path / "left")], cwd=ROOT, check=True)

    left = json.loads((tmp_path / "left" / "processes.json").read_text()).values()
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in left if psutil.pid_exists(pid)], timeout=20)
    assert alive == []


def test_a_restart_keeps_the_address_and_what_was_stored(server: RunningServer) -> None:
    wire, url = Wire.connect(server.kubeconfig), server.url
    wire.create(GPU_CLAIMS, a_claim("one"), namespace="default")

    server.restart()

    assert server.url == url
    assert wire.get(GPU_CLAIMS, "one", namespace="default").code == 200
