"""What is served: one entry per resource, the built-in ones here, those of CRDs from :mod:`kube.devserver.crds`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kube.devserver.schema import Schema

Object = dict[str, Any]

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class Column:
    """A printer column. ``path`` is a compiled-on-demand jsonPath."""

    name: str
    type: str
    path: str
    description: str = ""
    priority: int = 0
    format: str = ""


@dataclass(frozen=True)
class Served:
    """One resource: its names, its place on the wire and what is special about it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    verbs: tuple[str, ...] = ALL_VERBS
    selectable_fields: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    schema: Schema | None = None
    strict_names: bool = True
    is_going: bool = False
    raw_schema: Object = field(default_factory=dict, compare=False)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def collection(self) -> str:
        """Key of the resource in the store; the version does not matter there."""
        return f"{self.group}/{self.plural}"

    @property
    def list_name(self) -> str:
        return self.list_kind or f"{self.kind}List"

    @property
    def is_custom(self) -> bool:
        return self.schema is not None


def _built_in(
    group: str, version: str, plural: str, kind: str, namespaced: bool = False, **rest: Any
) -> Served:
    return Served(group, version, plural, kind, namespaced, singular=kind.lower(), **rest)


_RBAC: Final = "rbac.authorization.k8s.io"
_CREATE_ONLY: Final = ("create",)
_EVENT_FIELDS: Final = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)

BUILT_IN: Final = (
    _built_in("", "v1", "namespaces", "Namespace", short_names=("ns",), has_status=True),
    _built_in(
        "",
        "v1",
        "nodes",
        "Node",
        short_names=("no",),
        has_status=True,
        selectable_fields=("spec.unschedulable",),
    ),
    _built_in(
        "",
        "v1",
        "pods",
        "Pod",
        True,
        short_names=("po",),
        categories=("all",),
        has_status=True,
        selectable_fields=("spec.nodeName", "spec.schedulerName", "status.phase", "status.podIP"),
    ),
    _built_in("", "v1", "resourcequotas", "ResourceQuota", True, short_names=("quota",), has_status=True),
    _built_in("", "v1", "events", "Event", True, short_names=("ev",), selectable_fields=_EVENT_FIELDS),
    _built_in("", "v1", "serviceaccounts", "ServiceAccount", True, short_names=("sa",)),
    _built_in("", "v1", "configmaps", "ConfigMap", True, short_names=("cm",)),
    _built_in("", "v1", "secrets", "Secret", True, selectable_fields=("type",)),
    _built_in(
        "", "v1", "services", "Service", True, short_names=("svc",), categories=("all",), has_status=True
    ),
    _built_in("coordination.k8s.io", "v1", "leases", "Lease", True),
    _built_in(_RBAC, "v1", "roles", "Role", True, strict_names=False),
    _built_in(_RBAC, "v1", "rolebindings", "RoleBinding", True, strict_names=False),
    _built_in(_RBAC, "v1", "clusterroles", "ClusterRole", strict_names=False),
    _built_in(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", strict_names=False),
    _built_in(
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
    ),
    _built_in(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        short_names=("crd", "crds"),
        has_status=True,
    ),
    _built_in(
        "authorization.k8s.io",
        "v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        verbs=_CREATE_ONLY,
    ),
    _built_in(
        "authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", verbs=_CREATE_ONLY
    ),
    _built_in(
        "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", verbs=_CREATE_ONLY
    ),
    _built_in("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", verbs=_CREATE_ONLY),
)


class Catalogue:
    """Every served resource by where it is served. Changes when a CRD comes or goes."""

    def __init__(self) -> None:
        self._served = {(entry.group, entry.version, entry.plural): entry for entry in BUILT_IN}
        self.revision = 0

    def find(self, group: str, version: str, plural: str) -> Served | None:
        return self._served.get((group, version, plural))

    def add(self, entry: Served) -> None:
        self._served[entry.group, entry.version, entry.plural] = entry
        self.revision += 1

    def remove(self, group: str, plural: str) -> None:
        """Stop serving the resource in all its versions."""
        self._served = {
            key: entry for key, entry in self._served.items() if (key[0], key[2]) != (group, plural)
        }
        self.revision += 1

    def all(self) -> list[Served]:
        return list(self._served.values())

    def namespaced_collections(self) -> list[Served]:
        """One entry per namespaced, stored collection."""
        found = {
            entry.collection: entry for entry in self.all() if entry.namespaced and "list" in entry.verbs
        }
        return list(found.values())
