"""Run a real API server: ``python -m tools.envtest --data DIR``. Takes what kube.devserver takes, and says the same when ready.

Whatever dies of it is started again, as a kubelet does with static pods; DIR/processes.json says who has which process id.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

from kube import config
from kube.certificates import keep_server_files
from kube.devserver.accounts import Account, Accounts
from kube.gateway import Gateway
from tools.envtest.build import CannotBuild
from tools.envtest.plane import API, COMPANIONS, Plane
from tools.install import install
from tools.run.addresses import HOST, free_ports, is_taken
from tools.run.children import Child

_READY_WITHIN_SECONDS: Final = 90.0
_DEATHS_ALLOWED: Final = 2  # while it starts: it may come before etcd answers
_STOP_SECONDS: Final = 15.0
_LOOK_SECONDS: Final = 0.02
_NAMES: Final = (HOST, "localhost", "kubernetes", "kubernetes.default.svc")


class Stopped(Exception):
    """SIGTERM or Ctrl-C."""


class CannotStart(Exception):
    """Why it does not run, in words."""


class Running:
    """The processes of a plane, kept alive until they are stopped."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        etcd, api, *companions = plane.children()
        self._server = [etcd, api]
        self._companions = companions
        self._children: list[Child] = []
        self._deaths = 0
        self._parent = os.getppid()
        self._tls = ssl.create_default_context(cadata=plane.files.ca_bundle.decode())

    def start(self, crds: Path | None) -> None:
        """Return when the API server serves everything, the CRDs included."""
        for child in self._server:
            self._start(child)
        deadline = time.monotonic() + _READY_WITHIN_SECONDS
        while not self._is_ready():
            if self._deaths > _DEATHS_ALLOWED or time.monotonic() > deadline:
                raise CannotStart(f"{API} does not become ready:\n{self._server[1].last_words()}")
            self.look()
            time.sleep(_LOOK_SECONDS)
        if crds is not None:
            with Gateway.connect(config.load(self._plane.kubeconfig)) as gateway:
                install(gateway, crds)
        for child in self._companions:
            self._start(child)

    def look(self) -> None:
        """Start again whatever died. Raises Stopped when whoever started us did: nobody would stop us any more."""
        if os.getppid() != self._parent:
            raise Stopped
        for child in self._children:
            if child.died() is not None:
                self._deaths += 1
                print(f"{child.name} died; its log is {child.log}", file=sys.stderr, flush=True)
            if child.is_due():
                child.start()
                self._write_processes()

    def stop(self) -> None:
        """End the API server before what it stands on."""
        for child in reversed(self._children):
            child.terminate()
            child.wait(until=time.monotonic() + _STOP_SECONDS)

    def _start(self, child: Child) -> None:
        child.start()
        self._children.append(child)
        self._write_processes()

    def _write_processes(self) -> None:
        path = self._plane.folder / "processes.json"
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps({child.name: child.pid for child in self._children}))
        draft.replace(path)

    def _is_ready(self) -> bool:
        # Its own hooks make the roles and the system namespaces after it began to answer.
        return self._answers("/readyz") and self._answers("/api/v1/namespaces/default")

    def _answers(self, path: str) -> bool:
        token = self._plane.tokens.read_text().partition(",")[0]
        request = urllib.request.Request(self._plane.url + path, headers={"Authorization": f"Bearer {token}"})  # noqa: S310  # our own https address
        try:
            with urllib.request.urlopen(request, timeout=5, context=self._tls):  # noqa: S310  # as above
                return True
        except OSError:
            return False


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.envtest", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder for state, certificates, kubeconfigs, logs"
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--crds", type=Path, default=None, help="folder of CRDs to install")
    parser.add_argument(
        "--user", type=Account.parse, action="append", default=[], metavar="NAME:GROUP,GROUP",
        help="another user with a kubeconfig-NAME; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--with",
        dest="companions",
        choices=COMPANIONS,
        action="append",
        default=[],
        help="run this too; may be repeated",
    )
    parser.add_argument(
        "--fsync", action="store_true", help="let etcd wait for the disk, as it does in production"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    arguments = _arguments(argv)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    data: Path = arguments.data.absolute()
    data.mkdir(parents=True, exist_ok=True)
    running: Running | None = None
    try:
        plane = _prepared(data, arguments.port or free_ports(1)[0], arguments)
        running = Running(plane)
        running.start(arguments.crds)
        plane.ready.touch()
        print(f"ready {plane.url}", flush=True)
        while True:
            running.look()
            time.sleep(_LOOK_SECONDS)
    except Stopped:
        return 0
    except (CannotBuild, CannotStart) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        if running is not None:
            running.stop()


def _prepared(data: Path, port: int, arguments: argparse.Namespace) -> Plane:
    if is_taken(port):
        raise CannotStart(f"Port {port} is taken by another program.")
    files = keep_server_files(
        data / "tls", _NAMES, now=datetime.now(UTC), authority_name="GPU Portal test API server"
    )
    accounts = Accounts.issue(data, arguments.user)
    plane = Plane(
        data,
        port,
        files,
        accounts.tokens,
        companions=tuple(dict.fromkeys(arguments.companions)),
        syncs=arguments.fsync,
    )
    accounts.write_kubeconfigs(plane.url, files.ca_bundle)
    plane.ready.unlink(missing_ok=True)
    return plane


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


if __name__ == "__main__":
    sys.exit(main())
