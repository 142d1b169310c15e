"""Which API server a portal of ``make run`` stands on: the dev server, a real one of its own, or a given cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kube import config
from kube.errors import KubeError, NotFound, NotServed
from kube.gateway import Gateway
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, GPU_NODES, NAMESPACES, AnyKind
from tools.envtest import build
from tools.envtest.build import CannotBuild
from tools.install import DEPLOY, SYSTEM_NAMESPACE, confirmed, install_portal
from tools.run.addresses import CannotStart, Data

_MODULES: Final = {"dev": "kube.devserver", "real": "tools.envtest"}


@dataclass(frozen=True)
class Cluster:
    """The choice. ``kubeconfig`` is that of a given cluster; the others make their own."""

    name: str
    kubeconfig: Path | None = None

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """Read "dev", "real" or the path of a kubeconfig. Raises CannotStart when there is no such file."""
        if text in _MODULES:
            return cls(text)
        path = Path(text).expanduser().absolute()
        if not path.is_file():
            raise CannotStart(
                f"CLUSTER={text}: it is dev, real, or the path of a kubeconfig; there is no such file."
            )
        return cls(str(path), path)

    @property
    def is_ours(self) -> bool:
        """Say whether it is started, filled and stopped here."""
        return self.kubeconfig is None

    def command(self, data: Data, port: int) -> list[str]:
        """Give what starts it, for Python."""
        started = ["-m", _MODULES[self.name], "--data", str(data.cluster), "--port", str(port)]
        with_companions = [option for name in self._companions for option in ("--with", name)]
        return [*started, "--crds", str(DEPLOY / "crds"), *with_companions]

    @property
    def _companions(self) -> tuple[str, ...]:
        """What is no part of a real API server and yet does what people expect of one: aggregates roles, empties namespaces."""
        return ("kube-controller-manager",) if self.name == "real" else ()

    def is_ready(self, data: Data) -> bool:
        """Say whether it serves the kinds. A real one answers a good while before."""
        return self.name != "real" or (data.cluster / "ready").exists()

    def service_kubeconfig(self, data: Data, user: str) -> Path:
        """Give the credentials of one of our services. On a given cluster they are those of whoever gave it."""
        return self.kubeconfig or data.cluster / f"kubeconfig-{user}"

    def admin_kubeconfig(self, data: Data) -> Path:
        return self.kubeconfig or data.cluster / "kubeconfig"

    def claim(self, data: Data) -> None:
        """Remember in the folder which cluster it is about. Raises CannotStart when it is about another."""
        kept = data.root / "cluster-choice"
        # Folders from before there was a choice are the dev server's.
        before = (
            kept.read_text() if kept.exists() else "dev" if (data.root / "ports.json").exists() else self.name
        )
        if before != self.name:
            raise CannotStart(
                f"{data.root} holds the data of CLUSTER={before}. Choose another folder with DATA=, or start over with FRESH=1."
            )
        kept.write_text(self.name)

    def prepare(self) -> None:
        """Build a real server where that is to be done. See that a given cluster has what the portal needs; ask before anything is
        installed there. Raises CannotStart.
        """
        if self.name == "real":
            _build((*build.SERVER, *self._companions))
        if self.kubeconfig is None:
            return
        cluster = config.load(self.kubeconfig)
        with Gateway.connect(cluster) as gateway:
            try:
                if _has_all(gateway):
                    return
                if not (os.environ.get("YES") == "1" or confirmed(cluster.server)):
                    raise CannotStart("The cluster lacks the CRDs of the portal, and nothing was installed.")
                install_portal(gateway)
            except KubeError as error:
                raise CannotStart(f"{cluster.server}: {error}") from error


def _build(parts: Iterable[str]) -> None:
    try:
        for part in parts:
            build.find(part)
    except CannotBuild as error:
        raise CannotStart(str(error)) from error


def _has_all(gateway: Gateway) -> bool:
    try:
        gateway.get(NAMESPACES, SYSTEM_NAMESPACE)
        kinds: tuple[AnyKind, ...] = (GPU_CLASSES, GPU_CLAIMS, GPU_NODES)
        for kind in kinds:
            gateway.list(kind, limit=1)
    except (NotFound, NotServed):
        return False
    return True
