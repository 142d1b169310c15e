"""Who may do what: Roles, ClusterRoles and their bindings, read from the store, remembered per user until one changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kube.devserver.auth import User
from kube.devserver.selectors import picks
from kube.devserver.store import Collection, Store

MASTERS: Final = "system:masters"
GROUP: Final = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Final = f"{GROUP}/clusterroles"
ROLES: Final = f"{GROUP}/roles"
CLUSTER_ROLE_BINDINGS: Final = f"{GROUP}/clusterrolebindings"
ROLE_BINDINGS: Final = f"{GROUP}/rolebindings"
COLLECTIONS: Final = (CLUSTER_ROLES, ROLES, CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS)


@dataclass(frozen=True)
class Action:
    """What a request wants to do. ``path`` is for requests about no resource."""

    verb: str
    group: str = ""
    plural: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def target(self) -> str:
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural

    def refusal(self, username: str) -> str:
        """Say it as the API server does."""
        if self.path:
            return f'User "{username}" cannot {self.verb} path "{self.path}"'
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return f'User "{username}" cannot {self.verb} resource "{self.target}" in API group "{self.group}" {where}'


@dataclass(frozen=True)
class Grant:
    """One rule that a user has, everywhere or in one namespace."""

    namespace: str | None
    verbs: frozenset[str]
    groups: frozenset[str]
    targets: frozenset[str]
    names: frozenset[str]
    paths: tuple[str, ...]

    def allows(self, action: Action) -> bool:
        if action.verb not in self.verbs and "*" not in self.verbs:
            return False
        if action.path:
            return self.namespace is None and any(
                path_matches(pattern, action.path) for pattern in self.paths
            )
        if self.namespace is not None and self.namespace != action.namespace:
            return False
        if action.group not in self.groups and "*" not in self.groups:
            return False
        if self.names and action.name not in self.names:
            return False
        wanted = {"*", action.target}
        if action.subresource:
            wanted.add(f"*/{action.subresource}")
        return not wanted.isdisjoint(self.targets)


def path_matches(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def _grants(rules: list[dict[str, Any]], namespace: str | None) -> Iterator[Grant]:
    for rule in rules:
        yield Grant(
            namespace=namespace,
            verbs=frozenset(rule.get("verbs") or ()),
            groups=frozenset(rule.get("apiGroups") or ()),
            targets=frozenset(rule.get("resources") or ()),
            names=frozenset(rule.get("resourceNames") or ()),
            paths=tuple(rule.get("nonResourceURLs") or ()),
        )


class Authorizer:
    """Answer whether a user may act. Rules are collected on a user's first request after a change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, frozenset[str]], tuple[Grant, ...]] = {}
        self._bindings: dict[tuple[str, str], list[tuple[str | None, dict[str, str]]]] = {}
        self.revision = 0
        self._built = -1

    def changed(self) -> None:
        """Tell that a role or binding is not what it was."""
        self.revision += 1

    def allows(self, user: User, action: Action) -> bool:
        if MASTERS in user.groups:
            return True
        return any(grant.allows(action) for grant in self.grants(user))

    def grants(self, user: User) -> tuple[Grant, ...]:
        if self._built != self.revision:
            self._known.clear()
            self._bindings = self._index_bindings()
            self._built = self.revision
        key = (user.name, user.groups)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._collect(user))
        return found

    def _table(self, name: str) -> Collection:
        return self._store.collection(name)

    def _index_bindings(self) -> dict[tuple[str, str], list[tuple[str | None, dict[str, str]]]]:
        index: dict[tuple[str, str], list[tuple[str | None, dict[str, str]]]] = {}
        for name in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
            for record in self._table(name).records.values():
                binding = record.object
                namespace = record.key[0] or None
                for subject in binding.get("subjects") or ():
                    index.setdefault(_subject(subject, namespace), []).append((namespace, binding["roleRef"]))
        return index

    def _collect(self, user: User) -> Iterator[Grant]:
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        for subject in subjects:
            for namespace, role in self._bindings.get(subject, ()):
                yield from _grants(self.rules(role, namespace) or [], namespace)

    def rules(self, role: dict[str, str], namespace: str | None) -> list[dict[str, Any]] | None:
        """Give the rules of a role that a binding refers to, or None when there is none."""
        if role["kind"] == "Role":
            record = self._table(ROLES).records.get((namespace or "", role["name"]))
            return list(record.object.get("rules") or ()) if record else None
        record = self._table(CLUSTER_ROLES).records.get(("", role["name"]))
        return self._cluster_rules(record.object, seen={role["name"]}) if record else None

    def _cluster_rules(self, role: dict[str, Any], *, seen: set[str]) -> list[dict[str, Any]]:
        """Give a ClusterRole's rules; an aggregated one has those of the roles its selectors pick."""
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
        if not selectors:
            return list(role.get("rules") or ())
        rules: list[dict[str, Any]] = []
        for record in self._table(CLUSTER_ROLES).records.values():
            other = record.object
            name = other["metadata"]["name"]
            labels = other["metadata"].get("labels") or {}
            if name not in seen and any(picks(selector, labels) for selector in selectors):
                seen.add(name)
                rules += self._cluster_rules(other, seen=seen)
        return rules


def _subject(subject: dict[str, str], namespace: str | None) -> tuple[str, str]:
    if subject["kind"] == "ServiceAccount":
        home = subject.get("namespace") or namespace
        return "User", f"system:serviceaccount:{home}:{subject['name']}"
    return subject["kind"], subject["name"]
