"""Read Kubernetes objects from the YAML files of a folder, in the order in which a cluster can take them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from kube import kinds
from kube.kinds import AnyKind, Kind, Opaque

RBAC: Final = "rbac.authorization.k8s.io"
_ORDER: Final[tuple[AnyKind, ...]] = (
    kinds.NAMESPACES,
    Kind("", "v1", "serviceaccounts", "ServiceAccount", True, Opaque),
    Kind(RBAC, "v1", "clusterroles", "ClusterRole", False, Opaque),
    Kind(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", False, Opaque),
    Kind(RBAC, "v1", "roles", "Role", True, Opaque),
    Kind(RBAC, "v1", "rolebindings", "RoleBinding", True, Opaque),
    kinds.CRDS,
    kinds.RESOURCE_QUOTAS,
    kinds.NODES,
    kinds.GPU_NODES,
    kinds.GPU_CLASSES,
    kinds.PODS,
    kinds.GPU_CLAIMS,
)
_RANK: Final = {(kind.api_version, kind.name): rank for rank, kind in enumerate(_ORDER)}


def read(*folders: Path) -> list[tuple[AnyKind, dict[str, Any]]]:
    """Give every object of the folders' YAML files with its kind.

    Raises ValueError, naming the file, for an object of a kind not listed here.
    """
    found = sorted(_ranked(folders), key=lambda entry: entry[0])
    return [(_ORDER[rank], body) for rank, body in found]


def _ranked(folders: tuple[Path, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    for path in (path for folder in folders for path in sorted(folder.glob("*.yaml"))):
        for body in yaml.safe_load_all(path.read_text()):
            if body is None:
                continue
            rank = _RANK.get((body.get("apiVersion"), body.get("kind")))
            if rank is None:
                raise ValueError(f"{path}: what is {body.get('apiVersion')} {body.get('kind')}?")
            yield rank, body
