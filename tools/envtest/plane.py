"""The processes of a control plane on one machine, and with what they are told."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kube.certificates import ServerFiles
from tools.envtest.build import find
from tools.run.addresses import HOST, free_ports
from tools.run.children import Child

API: Final = "kube-apiserver"
COMPANIONS: Final = ("kube-controller-manager", "kube-scheduler", "kwok")
_NOT_ADMITTED_BY: Final = "ServiceAccount,TaintNodesByCondition"
"""Plugins that wait for a process that is not here: one would refuse pods, the other taint nodes for good."""
_CONTROLLERS: Final = "clusterrole-aggregation-controller,namespace-controller,resourcequota-controller"
"""Those whose work tests look at. Others would take nodes without a kubelet for dead."""
FAKE_NODE: Final = "kwok.x-k8s.io/node=fake"
"""The annotation of nodes that kwok keeps alive."""
_STAGES: Final = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
)


@dataclass(frozen=True)
class Plane:
    """One control plane with all it keeps in a folder. Making it starts nothing."""

    folder: Path
    port: int
    files: ServerFiles
    tokens: Path
    companions: Sequence[str] = ()
    syncs: bool = False

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """Of the administrator."""
        return self.folder / "kubeconfig"

    @property
    def ready(self) -> Path:
        """Is there while everything is served, for whoever looks from outside."""
        return self.folder / "ready"

    def children(self) -> list[Child]:
        """Give etcd, the API server and the companions, in the order in which they start."""
        etcd_port, peer_port, *ports = free_ports(2 + len(self.companions))
        endpoint = f"http://{HOST}:{etcd_port}"
        (self.folder / "etcd-endpoint").write_text(endpoint)
        make: dict[str, Callable[[int], Child]] = {
            "kube-controller-manager": self._controller_manager,
            "kube-scheduler": self._scheduler,
            "kwok": self._kwok,
        }
        others = [make[name](port) for name, port in zip(self.companions, ports, strict=True)]
        return [self._etcd(endpoint, f"http://{HOST}:{peer_port}"), self._api_server(endpoint), *others]

    def _etcd(self, endpoint: str, peer: str) -> Child:
        return self._child(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={endpoint}",
            f"--advertise-client-urls={endpoint}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=warn",
            # What a power cut loses is of no interest here; a killed process loses nothing by it.
            *([] if self.syncs else ["--unsafe-no-fsync"]),
        )

    def _api_server(self, endpoint: str) -> Child:
        return self._child(
            API,
            f"--etcd-servers={endpoint}",
            f"--bind-address={HOST}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self.files.certificate}",
            f"--tls-private-key-file={self.files.key}",
            f"--cert-dir={self.folder / 'certs'}",
            f"--token-auth-file={self.tokens}",
            "--authorization-mode=RBAC",
            f"--disable-admission-plugins={_NOT_ADMITTED_BY}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._signing_key()}",
            f"--service-account-signing-key-file={self._signing_key()}",
        )

    def _controller_manager(self, port: int) -> Child:
        return self._child(
            "kube-controller-manager",
            *self._as_companion(port),
            f"--controllers={_CONTROLLERS}",
            f"--service-account-private-key-file={self._signing_key()}",
        )

    def _scheduler(self, port: int) -> Child:
        # The default of 50 requests a second is made for clusters in which others work too.
        return self._child(
            "kube-scheduler", *self._as_companion(port), "--kube-api-qps=1000", "--kube-api-burst=1000"
        )

    def _as_companion(self, port: int) -> list[str]:
        return [
            f"--kubeconfig={self.kubeconfig}",
            "--leader-elect=false",
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            f"--cert-dir={self.folder / 'certs'}",
        ]

    def _kwok(self, port: int) -> Child:
        return self._child(
            "kwok",
            f"--kubeconfig={self.kubeconfig}",
            f"--config={self._stages()}",
            f"--server-address={HOST}:{port}",
            "--manage-all-nodes=false",
            f"--manage-nodes-with-annotation-selector={FAKE_NODE}",
        )

    def _stages(self) -> Path:
        """Give the file of what kwok does to nodes and pods: it has none built in, its module carries them."""
        path = self.folder / "kwok-stages.yaml"
        if not path.exists():
            listed = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"]
            module = Path(__file__).resolve().parent / "kwok"
            found = subprocess.run(
                listed, cwd=module, capture_output=True, text=True, check=True
            ).stdout.strip()
            texts = [(Path(found) / "kustomize" / "stage" / stage).read_text() for stage in _STAGES]
            path.write_text("\n---\n".join(texts))
        return path

    def _signing_key(self) -> Path:
        path = self.folder / "service-accounts.key"
        if not path.exists():
            pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,  # the only one it reads EC keys in
                serialization.NoEncryption(),
            )
            path.touch(mode=0o600)
            path.write_bytes(pem)
        return path

    def _child(self, name: str, *arguments: str) -> Child:
        return Child(name, [str(find(name)), *arguments], environment=dict(os.environ), logs=self.folder)
