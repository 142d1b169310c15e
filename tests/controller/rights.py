"""What deploy/rbac grants, and API servers on which its accounts can log in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kube import config
from kube.gateway import Gateway
from tests.controller.recorder import Right
from tests.kube.servers import RunningServer, start_dev_server, start_real_server
from tools import manifests
from tools.install import install_portal

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMESPACE = "gpu-portal-system"
CONTROLLER = f"system:serviceaccount:{NAMESPACE}:gpu-controller"
PORTAL = f"system:serviceaccount:{NAMESPACE}:gpu-portal"
SHIPPED = [body for _, body in manifests.read(DEPLOY / "rbac")]


def granted(*roles: str) -> set[Right]:
    """Give the rights of the shipped roles, cluster-wide or not."""
    return {
        (group, resource, verb)
        for body in SHIPPED
        if body["kind"] in ("Role", "ClusterRole") and body["metadata"]["name"] in roles
        for rule in body["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def tenant_bindings(namespace: str, *ancestors: str) -> Iterator[dict[str, Any]]:
    """Bind the shipped tenant roles in a namespace as Cozystack does: a level holds for those above, and from every ancestor."""
    levels = ("view", "use", "admin", "super-admin")
    for rank, level in enumerate(levels):
        role = "cozy:gpu:view" if level == "view" else "cozy:gpu:use"
        groups = [f"{owner}-{above}" for owner in (namespace, *ancestors) for above in levels[rank:]]
        yield {
            "metadata": {"name": f"cozy:tenant:{level}", "namespace": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group} for group in groups
            ],
        }


@contextmanager
def installed_server(folder: Path, *, is_real: bool) -> Iterator[RunningServer]:
    """Start an API server with nothing but what `make install-cluster` puts there, and kubeconfigs of our two accounts."""
    start = start_real_server if is_real else start_dev_server
    server = start(folder, users=[CONTROLLER, PORTAL])
    try:
        with Gateway.connect(config.load(server.kubeconfig)) as gateway:
            install_portal(gateway)
        yield server
    finally:
        server.kill()
