"""What a fresh server holds: the system namespaces, the default roles, and the CRDs it was given."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Final

from kube.devserver import crds, strategy
from kube.devserver.metadata import stamp
from kube.devserver.request import yaml_loader
from kube.devserver.sameness import is_same
from kube.devserver.served import Object, Served
from kube.devserver.state import State

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_RBAC: Final = "rbac.authorization.k8s.io"
_READ: Final = ["get", "list", "watch"]
_WRITE: Final = ["create", "delete", "deletecollection", "patch", "update"]
_TENANT_KINDS: Final = ["configmaps", "events", "pods", "resourcequotas", "serviceaccounts", "services"]


def _role(name: str, rules: list[Object], *, labels: dict[str, str] | None = None) -> Object:
    return {
        "kind": "ClusterRole",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults", **(labels or {})},
        },
        "rules": rules,
    }


def _aggregate(name: str, labels: dict[str, str] | None = None) -> Object:
    role = _role(name, [], labels=labels)
    selector = {"matchLabels": {f"{_RBAC}/aggregate-to-{name}": "true"}}
    return {**role, "aggregationRule": {"clusterRoleSelectors": [selector]}}


def _binding(role: str, group: str) -> Object:
    return {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group}],
    }


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> Object:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}


def _defaults() -> list[Object]:
    everything = [_rule(["*"], ["*"], ["*"]), {"nonResourceURLs": ["*"], "verbs": ["*"]}]
    paths = [
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
    ]
    reviews = [
        _rule(["authorization.k8s.io"], ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], ["create"]),
        _rule(["authentication.k8s.io"], ["selfsubjectreviews"], ["create"]),
    ]
    to = f"{_RBAC}/aggregate-to-"
    return [
        _role("cluster-admin", everything),
        _role("system:discovery", [{"nonResourceURLs": paths, "verbs": ["get"]}]),
        _role("system:basic-user", reviews),
        _aggregate("view", {f"{to}edit": "true"}),
        _aggregate("edit", {f"{to}admin": "true"}),
        _aggregate("admin"),
        _role(
            "system:aggregate-to-view",
            [_rule([""], [*_TENANT_KINDS, "namespaces"], _READ)],
            labels={f"{to}view": "true"},
        ),
        _role(
            "system:aggregate-to-edit",
            [
                _rule(
                    [""], ["configmaps", "pods", "secrets", "serviceaccounts", "services"], [*_READ, *_WRITE]
                )
            ],
            labels={f"{to}edit": "true"},
        ),
        _role(
            "system:aggregate-to-admin",
            [_rule([_RBAC], ["roles", "rolebindings"], [*_READ, *_WRITE])],
            labels={f"{to}admin": "true"},
        ),
        _binding("cluster-admin", "system:masters"),
        _binding("system:discovery", "system:authenticated"),
        _binding("system:basic-user", "system:authenticated"),
    ]


def _served(state: State, kind: str) -> Served:
    return next(entry for entry in state.catalogue.all() if entry.kind == kind)


def _add(state: State, content: Object) -> None:
    served = _served(state, content["kind"])
    content["apiVersion"] = served.api_version
    stamp(content, namespace="")
    strategy.prepare_create(served, content)
    strategy.clean(served, content)
    state.put(served, ("", content["metadata"]["name"]), content)


def fill(state: State) -> None:
    """Create what is missing of the defaults."""
    defaults: list[Object] = [
        {"kind": "Namespace", "metadata": {"name": name}} for name in _NAMESPACES
    ] + _defaults()
    for content in defaults:
        served = _served(state, content["kind"])
        if state.get(served, ("", content["metadata"]["name"])) is None:
            _add(state, content)


def read_crds(folder: Path) -> list[Object]:
    """Read every CRD of a folder of YAML files."""
    import yaml

    found: list[Object] = []
    for path in sorted(folder.glob("*.y*ml")):
        documents: Any = yaml.load_all(path.read_bytes(), Loader=yaml_loader())
        found += [document for document in documents if document]
    return found


def install(state: State, given: Object) -> None:
    """Create a CRD or bring it up to date. Raise ValueError when it is invalid."""
    served = _served(state, "CustomResourceDefinition")
    content = copy.deepcopy(given)
    name = content["metadata"]["name"]
    record = state.get(served, ("", name))
    if record is not None:
        content = record.object
        content["spec"] = {**copy.deepcopy(given["spec"]), "conversion": {"strategy": "None"}}
        content["metadata"]["annotations"] = given["metadata"].get("annotations") or {}
        if is_same(content, record.object):
            return
        content["metadata"]["generation"] += 1
    else:
        stamp(content, namespace="")
        strategy.prepare_create(served, content)
    faults = crds.faults(content)
    if faults:
        raise ValueError(f"{name}: {'; '.join(str(fault) for fault in faults)}")
    crds.establish(content)
    state.put(served, ("", name), content)
