"""The settings of one controller process: command line first, then environment, then default."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, cast

from controller.leader import LeaseTimes
from controller.world import CLAIMS_PACE
from kube.certificates import ServerFiles

InstallWebhook = Literal["url", "service", "none"]
INSTALL_CHOICES: Final = ("url", "service", "none")


@dataclass(frozen=True)
class Timings:
    """How long things may take before the controller acts on them."""

    webhook_seconds: int = 5
    reservation_seconds: float = 30.0
    node_grace_seconds: float = 60.0
    refusal_seconds: float = 300.0
    stale_seconds: float = 10.0
    class_status_seconds: float = 0.1
    upkeep_seconds: float = 1.0


LEAST_RESERVATION_SECONDS: Final = sum(CLAIMS_PACE) + Timings.stale_seconds
"""A watch of claims that died without a word is noticed within the first; for the second nobody minds. Were a reservation shorter,
its order could be stored, unseen and not charged at once, and the unit be sold again."""


@dataclass(frozen=True)
class Options:
    """What ``python -m controller`` was told."""

    kubeconfig: Path | None
    state: Path
    identity: str
    webhook_host: str = "127.0.0.1"
    webhook_port: int = 0
    webhook_service: str = "gpu-portal-controller"
    install_webhook: InstallWebhook = "url"
    lease_namespace: str = "gpu-portal-system"
    tls: ServerFiles | None = None
    metrics_port: int | None = None
    require_schedulable_label: bool = True
    lease: LeaseTimes = field(default_factory=LeaseTimes)
    timings: Timings = field(default_factory=Timings)


def parse_options(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> Options:
    """Read the options. Exits with a usage message, as argparse does, when they make no sense."""
    parser = _parser(environ)
    given = parser.parse_args(argv)
    files = [given.tls_ca, given.tls_certificate, given.tls_key]
    if any(files) and not all(files):
        parser.error("--tls-ca, --tls-certificate and --tls-key go together")
    if given.reservation_seconds < LEAST_RESERVATION_SECONDS:
        parser.error(
            f"--reservation-seconds must be {LEAST_RESERVATION_SECONDS:g} or more: for so long a stored order can go unseen"
        )
    return Options(
        kubeconfig=Path(given.kubeconfig) if given.kubeconfig else None,
        state=Path(given.state),
        identity=given.identity or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}",
        webhook_host=given.webhook_host,
        webhook_port=given.webhook_port,
        webhook_service=given.webhook_service,
        install_webhook=cast(InstallWebhook, given.install_webhook),
        lease_namespace=given.lease_namespace,
        tls=ServerFiles(*map(Path, files)) if all(files) else None,
        metrics_port=given.metrics_port,
        require_schedulable_label=not given.ignore_schedulable_label,
        lease=LeaseTimes(
            duration_seconds=given.lease_seconds,
            renew_deadline_seconds=given.lease_seconds * 2 / 3,
            retry_seconds=given.lease_seconds * 2 / 15,
        ),
        timings=Timings(
            webhook_seconds=given.webhook_timeout,
            reservation_seconds=given.reservation_seconds,
            node_grace_seconds=given.node_grace_seconds,
            refusal_seconds=given.refusal_seconds,
        ),
    )


def _parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m controller",
        description="Admits GPU orders, binds them to nodes and publishes what is free. Every option also has the "
        "environment variable named with it.",
    )

    def option(
        flag: str, variable: str, explanation: str, *, default: str | None = None, type_: type = str
    ) -> argparse.Action:
        value = environ.get(variable) or default
        return parser.add_argument(
            flag,
            default=value,
            type=type_,
            metavar=variable,
            help=f"{explanation} (default: {value or 'none'})",
        )

    option("--kubeconfig", "KUBECONFIG", "cluster and credentials; without it the pod's own service account")
    option("--state", "CONTROLLER_STATE", "folder of the webhook's certificates", default=".run/controller")
    option("--identity", "CONTROLLER_IDENTITY", "name in the Lease; two live processes never share one")
    option("--lease-namespace", "LEASE_NAMESPACE", "namespace of the Lease", default="gpu-portal-system")
    option(
        "--lease-seconds",
        "LEASE_SECONDS",
        "time after which a silent leader is replaced",
        default="15",
        type_=int,
    )
    option("--webhook-host", "WEBHOOK_HOST", "address to listen on for admission", default="127.0.0.1")
    option(
        "--webhook-port", "WEBHOOK_PORT", "port to listen on for admission, 0 for any", default="0", type_=int
    )
    option("--webhook-service", "WEBHOOK_SERVICE", "Service of the webhook", default="gpu-portal-controller")
    option(
        "--webhook-timeout",
        "WEBHOOK_TIMEOUT",
        "seconds the API server waits for an answer",
        default="5",
        type_=int,
    )
    option(
        "--tls-certificate", "TLS_CERTIFICATE", "file with the webhook's certificate; without it one is made"
    )
    option("--tls-key", "TLS_KEY", "file with its key")
    option("--tls-ca", "TLS_CA", "file with the authority that signed it, for the API server to trust")
    option("--metrics-port", "METRICS_PORT", "port for plain /metrics, /healthz and /readyz", type_=int)
    option(
        "--reservation-seconds",
        "RESERVATION_SECONDS",
        "how long an admitted order may take to be stored",
        default="30",
        type_=float,
    )
    option(
        "--node-grace-seconds",
        "NODE_GRACE_SECONDS",
        "how long a node may be away before unattached claims leave it",
        default="60",
        type_=float,
    )
    option(
        "--refusal-seconds",
        "REFUSAL_SECONDS",
        "how long a node whose kubelet refused a VM is avoided for its set",
        default="300",
        type_=float,
    )
    parser.add_argument(
        "--install-webhook",
        choices=INSTALL_CHOICES,
        default=environ.get("INSTALL_WEBHOOK") or "url",
        help="how the API server reaches the webhook; none: somebody else configures it",
    )
    parser.add_argument(
        "--ignore-schedulable-label",
        action="store_true",
        default=environ.get("IGNORE_SCHEDULABLE_LABEL", "") not in ("", "0", "false"),
        help="let nodes without kubevirt.io/schedulable=true serve classes",
    )
    return parser
