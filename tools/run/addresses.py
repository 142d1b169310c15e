"""Where the processes listen and keep their data. Chosen at the first start and kept, so that a kubeconfig stays right."""

from __future__ import annotations

import fcntl
import json
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

HOST = "127.0.0.1"


class CannotStart(Exception):
    """Something in the way of a start, in words for the person at the console."""


@dataclass(frozen=True)
class Ports:
    """The inner ports; the port of the web server is asked for at each start."""

    api: int
    webhook: int
    redis: int


@dataclass(frozen=True)
class Data:
    """The folder that holds everything a demo keeps."""

    root: Path

    @property
    def cluster(self) -> Path:
        return self.root / "cluster"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def database(self) -> Path:
        return self.root / "portal.sqlite3"

    @property
    def processes(self) -> Path:
        """Process ids by name, for whoever looks from outside."""
        return self.root / "processes.json"

    @property
    def loaded(self) -> Path:
        """Is there once the demo cluster was loaded whole."""
        return self.root / "demo-loaded"

    def secret_key_file(self) -> Path:
        """Give the file with Django's secret key, made at the first call."""
        path = self.root / "secret-key"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(50))
        return path


@contextmanager
def opened(root: Path, *, fresh: bool) -> Iterator[Data]:
    """Hold the folder for this process alone, emptied first when a fresh start is wanted.

    Raises CannotStart when another process holds it, or when what is to be emptied is not a folder of ours.
    """
    ours = root / "ports.json"
    if fresh and root.exists() and any(root.iterdir()) and not ours.exists():
        raise CannotStart(
            f"{root} is not a data folder of this project; it is left alone. Choose another with DATA=."
        )
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CannotStart(
                f"Another `make run` uses {root}. Stop it, or choose another folder with DATA=."
            ) from error
        if fresh:
            _empty(root, except_for=root / "lock")
        data = Data(root)
        data.logs.mkdir(exist_ok=True)
        data.cluster.mkdir(exist_ok=True)
        yield data


def _empty(root: Path, *, except_for: Path) -> None:
    for path in root.iterdir():
        if path == except_for:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def ports_of(data: Data) -> Ports:
    """Give the ports kept in the folder, or choose and keep free ones. Raises CannotStart when a kept one is taken."""
    kept = data.root / "ports.json"
    if kept.exists():
        ports = Ports(**json.loads(kept.read_text()))
        for name, port in asdict(ports).items():
            if is_taken(port):
                raise CannotStart(
                    f"Port {port}, on which {data.root} keeps its {name} server, is taken by another program. "
                    f"Stop that program, or start over with FRESH=1."
                )
        return ports
    ports = Ports(*free_ports(3))
    kept.write_text(json.dumps(asdict(ports)))
    return ports


def free_ports(count: int) -> list[int]:
    """Choose ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for sock in sockets:
            sock.bind((HOST, 0))
        return [sock.getsockname()[1] for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()


def is_taken(port: int) -> bool:
    """Say whether somebody listens on the port; one that was closed a moment ago is free."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((HOST, port))
        except OSError:
            return True
        return False


def answers(port: int) -> bool:
    """Say whether a connection to the port is taken up."""
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex((HOST, port)) == 0
