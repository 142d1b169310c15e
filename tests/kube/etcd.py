"""What a real API server keeps, seen past it: take it down as it is, and bring it back to that in a moment.

Starting a server takes seconds, deleting what a test made takes finalizers, grace periods and a controller for namespaces. The
API server watches etcd, so it takes up what is changed there as it does another API server's writes.
"""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import urllib3

from kube.kinds import GPU_CLAIMS
from tests.kube.orders import a_claim
from tests.kube.servers import RunningServer
from tests.kube.wire import Wire

_EVERYTHING: Final = {
    "key": base64.b64encode(b"/registry/").decode(),
    "range_end": base64.b64encode(b"/registry0").decode(),
}
_OF_THE_SERVER: Final = ("/registry/masterleases/", "/registry/leases/kube-system/", "/registry/ranges/")
"""What the server renews by itself."""
_TAKEN_UP_WITHIN_SECONDS: Final = 10.0


@dataclass(frozen=True)
class RestorePoint:
    """All that was stored at one moment, by key: the value and its revision."""

    folder: Path
    stored: dict[str, tuple[str, str]]

    @classmethod
    def take(cls, server: RunningServer) -> RestorePoint:
        return cls(server.folder, _read(server.folder))

    def restore(self, server: RunningServer) -> None:
        """Undo everything since, and wait until the server knows. A server that is down is started first."""
        if server.process is None:
            server.start()
        now = _read(self.folder)
        for key in now.keys() - self.stored.keys():
            _call(self.folder, "deleterange", {"key": key})
        for key, (value, revision) in self.stored.items():
            if now.get(key, ("", ""))[1] != revision:
                _call(self.folder, "put", {"key": key, "value": value})
        _wait_until_nobody_is_asked(Wire.connect(server.kubeconfig))


def _wait_until_nobody_is_asked(wire: Wire) -> None:
    """A webhook that is gone goes on being asked for a moment."""
    deadline = time.monotonic() + _TAKEN_UP_WITHIN_SECONDS
    while (
        answer := wire.create(GPU_CLAIMS, a_claim("probe"), namespace="default", dryRun="All")
    ).code != 201:
        assert time.monotonic() < deadline, answer.body
        time.sleep(0.01)


def _read(folder: Path) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for entry in _call(folder, "range", _EVERYTHING).get("kvs", ()):
        if not base64.b64decode(entry["key"]).decode().startswith(_OF_THE_SERVER):
            found[entry["key"]] = (entry["value"], entry["mod_revision"])
    return found


def _call(folder: Path, verb: str, body: dict[str, str]) -> Any:
    endpoint = (folder / "etcd-endpoint").read_text()
    answer = urllib3.request("POST", f"{endpoint}/v3/kv/{verb}", json=body, timeout=10.0)
    assert answer.status == 200, answer.data
    return answer.json()
