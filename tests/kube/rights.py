"""Roles and bindings as the contract suite writes them."""

from __future__ import annotations

from typing import Any, Final

from kube.kinds import Kind, Opaque

RBAC: Final = "rbac.authorization.k8s.io"
ROLES: Final = Kind(RBAC, "v1", "roles", "Role", True, Opaque)
ROLE_BINDINGS: Final = Kind(RBAC, "v1", "rolebindings", "RoleBinding", True, Opaque)
CLUSTER_ROLES: Final = Kind(RBAC, "v1", "clusterroles", "ClusterRole", False, Opaque)
CLUSTER_ROLE_BINDINGS: Final = Kind(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", False, Opaque)


def rule(
    verbs: list[str], resources: list[str], group: str = "gpu.cozystack.io", **more: Any
) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs, **more}


def role(name: str, *rules: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "rules": list(rules)}


def binding(name: str, kind: str, role: str, *subjects: tuple[str, str]) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": sort, "name": subject} for sort, subject in subjects],
    }
