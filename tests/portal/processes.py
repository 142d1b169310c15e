"""The portal's own processes for tests: a dev server, a Redis, a database of their own, and each process as production runs it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import dj_database_url
import msgspec
import psycopg
from django.db import connections
from django.db.models import Model, QuerySet

from kube import config
from kube.gateway import Gateway
from kube.kinds import AnyKind
from tests.fixtures.redis import RunningRedis
from tests.kube.servers import RunningServer, start_dev_server
from tests.waiting import until

ROOT: Final = Path(__file__).resolve().parents[2]
ALIAS: Final = "portal_processes"


@dataclass
class Portal:
    """Where everything is. Processes are started by name and may be killed."""

    folder: Path
    server: RunningServer
    redis: RunningRedis
    database_url: str
    environment: dict[str, str] = field(default_factory=dict)
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def gateway(self) -> Gateway:
        return Gateway.connect(config.load(self.server.kubeconfig))

    def put(self, kind: AnyKind, obj: Any) -> Any:
        """Create the object with its status; give it as stored."""
        body = msgspec.to_builtins(obj)
        for member in ("uid", "resourceVersion", "generation", "creationTimestamp"):
            body["metadata"].pop(member, None)
        status, namespace = body.pop("status", None), body["metadata"].get("namespace")
        read = self.gateway.create(kind, body, namespace=namespace)
        if status:
            name = body["metadata"]["name"]
            read = self.gateway.patch(
                kind, name, {"status": status}, namespace=namespace, subresource="status"
            )
        return read.object

    def rows(self, model: type[Model]) -> QuerySet[Any]:
        """Read what the processes wrote."""
        return model._default_manager.using(ALIAS)

    def start(self, name: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start `python <arguments>` with the portal's settings; its output is in <name>.log."""
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self.settings() | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._running.append(process)
        return process

    def mirror(self, **environment: str) -> subprocess.Popen[bytes]:
        return self.start("mirror", "manage.py", "mirror", **environment)

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        return self.start("worker", "manage.py", "worker", **environment)

    def beat(self, **environment: str) -> subprocess.Popen[bytes]:
        schedule = str(self.folder / "beat")
        command = ["-m", "celery", "-A", "portal", "beat", "--schedule", schedule, "--pidfile="]
        return self.start("beat", *command, **environment)

    def web(self, **environment: str) -> str:
        """Start the web process and wait for it; give its address."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = ["-m", "uvicorn", "portal.asgi:application", "--port", str(port)]
        self.start("web", *command, "--timeout-graceful-shutdown", "5", **environment)
        until(lambda: _answers(port), what="the web process answers")
        return f"http://127.0.0.1:{port}"

    def settings(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
        return kept | {
            "DATABASE_URL": self.database_url,
            "DEMO": "1",
            "KUBECONFIG": str(self.server.kubeconfig),
            "REDIS_URL": self.redis.url,
            "SECRET_KEY": "only-for-tests-and-long-enough-for-the-checks",
            **self.environment,
        }

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def stop(self) -> None:
        """Ask every process to stop. Raises TimeoutExpired for one that does not, when all are gone."""
        for process in self._running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        with ExitStack() as stack:
            for process in self._running:
                stack.callback(_ended, process)


def _ended(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=20)
    finally:
        process.kill()
        process.wait()


@contextmanager
def running_portal(folder: Path, *, database_url: str) -> Iterator[Portal]:
    """Start the cluster and Redis beside the database; the processes are for the test to start."""
    with ExitStack() as stack:
        redis = RunningRedis(folder)
        stack.callback(redis.kill)
        redis.start()
        server = stack.enter_context(start_dev_server(folder / "cluster"))
        parsed: dict[str, Any] = dict(dj_database_url.parse(database_url))
        connections.settings[ALIAS] = connections.configure_settings({"default": {}, ALIAS: parsed})[ALIAS]
        stack.callback(_forget_connection)
        portal = Portal(folder, server, redis, database_url)
        stack.callback(portal.stop)
        yield portal


def _forget_connection() -> None:
    connections[ALIAS].close()
    del connections[ALIAS]
    del connections.settings[ALIAS]


TEMPLATE: Final = "portal_template"


def prepare_database(folder: Path, postgres_url: str | None) -> None:
    """Make, once, a database with all tables and the demo users, for every test to copy."""
    url = _copy_of_nothing(folder, postgres_url)
    for command in (["migrate", "--noinput"], ["demo_users"]):
        environment = os.environ | {"DATABASE_URL": url, "DEMO": "1"}
        subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=environment, check=True)


def copied_database(template: Path, folder: Path, postgres_url: str | None) -> str:
    """Copy the prepared database; give the address of the copy."""
    if postgres_url is None:
        shutil.copy(template / "portal.sqlite3", folder / "portal.sqlite3")
        return f"sqlite:///{folder / 'portal.sqlite3'}"
    name = "portal_" + re.sub(r"\W", "_", folder.name)
    _create(postgres_url, name, f'TEMPLATE "{TEMPLATE}"')
    return _named(postgres_url, name)


def _copy_of_nothing(folder: Path, postgres_url: str | None) -> str:
    if postgres_url is None:
        return f"sqlite:///{folder / 'portal.sqlite3'}"
    _create(postgres_url, TEMPLATE, "")
    return _named(postgres_url, TEMPLATE)


def _create(postgres_url: str, name: str, options: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" {options}')


def _named(postgres_url: str, name: str) -> str:
    head, _, query = postgres_url.partition("?")
    return f"{head.rpartition('/')[0]}/{name}" + (f"?{query}" if query else "")


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
