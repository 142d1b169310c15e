"""Light schemas of the built-in kinds: the fields that somebody here reads have their types, everything else passes."""

from __future__ import annotations

from typing import Final

from kube.devserver.defaulting import Node
from kube.devserver.schema import Schema

TEXT: Final[Node] = {"type": "string"}
NUMBER: Final[Node] = {"type": "integer"}
TRUTH: Final[Node] = {"type": "boolean"}
AMOUNT: Final[Node] = {"x-kubernetes-int-or-string": True}
"""A quantity. Unreadable ones pass: readers have to live with them."""


def _object(*required: str, **properties: Node) -> Node:
    node: Node = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": properties}
    return {**node, "required": list(required)} if required else node


def _list(items: Node) -> Node:
    return {"type": "array", "items": items}


def _map(values: Node) -> Node:
    return {"type": "object", "additionalProperties": values}


_TEXTS: Final = _list(TEXT)
_CONDITIONS: Final = _list(_object("type", "status", type=TEXT, status=TEXT, reason=TEXT, message=TEXT))
_SELECTOR: Final = _object(
    matchLabels=_map(TEXT),
    matchExpressions=_list(_object(key=TEXT, operator=TEXT, values=_TEXTS)),
)
"""What is missing or too much in its terms is told by :mod:`kube.devserver.selectors`, in words of its own."""
_ROLE: Final = {
    "rules": _list(
        _object(
            "verbs",
            verbs=_TEXTS,
            apiGroups=_TEXTS,
            resources=_TEXTS,
            resourceNames=_TEXTS,
            nonResourceURLs=_TEXTS,
        )
    ),
    "aggregationRule": _object(clusterRoleSelectors=_list(_SELECTOR)),
}


def _binding(*kinds: str) -> Node:
    return _object(
        "roleRef",
        roleRef=_object("kind", "name", kind={**TEXT, "enum": list(kinds)}, name=TEXT, apiGroup=TEXT),
        subjects=_list(_object("kind", "name", kind=TEXT, name=TEXT, namespace=TEXT)),
    )


_CONTAINER: Final = _object(
    "name", name=TEXT, image=TEXT, resources=_object(requests=_map(AMOUNT), limits=_map(AMOUNT))
)
_WEBHOOK: Final = _object(
    "name",
    "clientConfig",
    "sideEffects",
    "admissionReviewVersions",
    name=TEXT,
    clientConfig=_object(url=TEXT, caBundle=TEXT),
    admissionReviewVersions=_TEXTS,
    failurePolicy={**TEXT, "enum": ["Fail", "Ignore"]},
    sideEffects={**TEXT, "enum": ["None", "NoneOnDryRun"]},
    timeoutSeconds={**NUMBER, "minimum": 1, "maximum": 30},
    namespaceSelector=_SELECTOR,
    objectSelector=_SELECTOR,
    rules=_list(
        _object(apiGroups=_TEXTS, apiVersions=_TEXTS, resources=_TEXTS, operations=_TEXTS, scope=TEXT)
    ),
)
_COLUMN: Final = _object(
    "name", "type", "jsonPath", name=TEXT, type=TEXT, jsonPath=TEXT, format=TEXT, priority=NUMBER
)
_CRD_VERSION: Final = _object(
    "name",
    "served",
    "storage",
    name=TEXT,
    served=TRUTH,
    storage=TRUTH,
    schema=_object(openAPIV3Schema=_object()),
    subresources=_object(),
    additionalPrinterColumns=_list(_COLUMN),
    selectableFields=_list(_object("jsonPath", jsonPath=TEXT)),
)
_CRD_NAMES: Final = _object(
    "plural",
    "kind",
    plural=TEXT,
    kind=TEXT,
    singular=TEXT,
    listKind=TEXT,
    shortNames=_TEXTS,
    categories=_TEXTS,
)

_NODES: Final[dict[str, Node]] = {
    "namespaces": _object(spec=_object(finalizers=_TEXTS), status=_object()),
    "nodes": _object(
        spec=_object(
            unschedulable=TRUTH,
            taints=_list(_object("key", "effect", key=TEXT, effect=TEXT, value=TEXT)),
        ),
        status=_object(capacity=_map(AMOUNT), allocatable=_map(AMOUNT), conditions=_CONDITIONS),
    ),
    "pods": _object(
        "spec",
        spec=_object(
            "containers",
            containers={**_list(_CONTAINER), "minItems": 1},
            initContainers=_list(_CONTAINER),
            nodeName=TEXT,
            overhead=_map(AMOUNT),
        ),
        status=_object(phase=TEXT, reason=TEXT, message=TEXT, conditions=_CONDITIONS),
    ),
    "resourcequotas": _object(
        spec=_object(hard=_map(AMOUNT), scopes=_TEXTS),
        status=_object(hard=_map(AMOUNT), used=_map(AMOUNT)),
    ),
    "events": _object(involvedObject=_object(), reason=TEXT, message=TEXT, type=TEXT),
    "configmaps": _object(data=_map(TEXT), binaryData=_map(TEXT)),
    "secrets": _object(data=_map(TEXT), type=TEXT),
    "services": _object(spec=_object(), status=_object()),
    "leases": _object(
        spec=_object(
            holderIdentity=TEXT,
            leaseDurationSeconds={**NUMBER, "minimum": 1},
            acquireTime=TEXT,
            renewTime=TEXT,
            leaseTransitions={**NUMBER, "minimum": 0},
        )
    ),
    "roles": _object(**_ROLE),
    "clusterroles": _object(**_ROLE),
    "rolebindings": _binding("Role", "ClusterRole"),
    "clusterrolebindings": _binding("ClusterRole"),
    "validatingwebhookconfigurations": _object(webhooks=_list(_WEBHOOK)),
    "customresourcedefinitions": _object(
        "spec",
        spec=_object(
            "group",
            "names",
            "scope",
            "versions",
            group=TEXT,
            scope={**TEXT, "enum": ["Cluster", "Namespaced"]},
            names=_CRD_NAMES,
            versions={**_list(_CRD_VERSION), "minItems": 1},
        ),
    ),
}
_SHAPES: Final = {plural: Schema(node) for plural, node in _NODES.items()}
_ANY: Final = Schema(_object())


def shape_of(plural: str) -> Schema:
    """Give the light schema of a built-in resource."""
    return _SHAPES.get(plural, _ANY)
