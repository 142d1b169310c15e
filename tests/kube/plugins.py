"""An exec plugin that does what a test wants, as a kubeconfig names it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.kube.tls import kubeconfig

_API_VERSION = "client.authentication.k8s.io/v1"


@dataclass(frozen=True)
class Plugin:
    """``gives``, ``fails`` and ``hangs`` say what its next runs do."""

    folder: Path

    def kubeconfig(self, server: str) -> Path:
        command = self.folder / "plugin"
        command.write_text('#!/bin/sh\necho >> "$0.runs"\nexec sh "$0.does"\n')
        command.chmod(0o755)
        user = {"exec": {"apiVersion": _API_VERSION, "command": str(command), "interactiveMode": "Never"}}
        return kubeconfig(self.folder, user=user, server=server)

    @property
    def runs(self) -> int:
        return len((self.folder / "plugin.runs").read_text().splitlines())

    def gives(self, token: str, *, until: datetime | None = None) -> None:
        self._does(self._giving(token, until))

    def fails(self) -> None:
        self._does("echo 'not signed in' >&2; exit 1")

    def hangs(self, *, then: str) -> None:
        """Hang until ``release``, then give the token."""
        os.mkfifo(self.folder / "gate")
        self._does(f"cat {self.folder / 'gate'}\n{self._giving(then, None)}")

    def release(self) -> None:
        """Let one go that hangs; waits until there is one."""
        (self.folder / "gate").write_text("")

    def _does(self, script: str) -> None:
        """Replace the script at once: it may be read this very moment."""
        fresh = self.folder / "fresh"
        fresh.write_text(script)
        fresh.replace(self.folder / "plugin.does")

    @staticmethod
    def _giving(token: str, until: datetime | None) -> str:
        status = {"token": token, **({"expirationTimestamp": until.isoformat()} if until else {})}
        return (
            f"echo '{json.dumps({'apiVersion': _API_VERSION, 'kind': 'ExecCredential', 'status': status})}'"
        )
