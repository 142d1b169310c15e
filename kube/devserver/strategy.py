"""What is special about a kind when it is written: defaults, fields the server owns, and what makes an object invalid."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any, Final

from kube.devserver import crds
from kube.devserver.defaulting import whole_numbers
from kube.devserver.metadata import differs_beyond_metadata, metadata_faults, name_faults, update_faults
from kube.devserver.selectors import selector_faults
from kube.devserver.served import Object, Served
from kube.devserver.shapes import shape_of
from kube.devserver.status import CauseType, FieldError

_COUNTED: Final = {"customresourcedefinitions", "validatingwebhookconfigurations"}
"""Built-in resources that count generations."""


def _namespace(content: Object) -> None:
    content["spec"] = {"finalizers": ["kubernetes"]}
    content["status"] = {"phase": "Active"}
    labels = content["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = content["metadata"].get("name", "")


def _pod(content: Object) -> None:
    content["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    spec = content.get("spec")
    if isinstance(spec, dict):
        for name, value in (("restartPolicy", "Always"), ("schedulerName", "default-scheduler")):
            spec.setdefault(name, value)


def _quota(content: Object) -> None:
    content["status"] = {}


def _secret(content: Object) -> None:
    content.setdefault("type", "Opaque")
    for key, text in (content.pop("stringData", None) or {}).items():
        content.setdefault("data", {})[key] = base64.b64encode(str(text).encode()).decode()


def _webhooks(content: Object) -> None:
    for webhook in content.get("webhooks") or ():
        for name, value in (
            ("failurePolicy", "Fail"),
            ("matchPolicy", "Equivalent"),
            ("timeoutSeconds", 10),
            ("namespaceSelector", {}),
            ("objectSelector", {}),
        ):
            webhook.setdefault(name, value)
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")


def _amounts_as_text(content: Object) -> None:
    """Write quantities as the API server does, whatever a client wrote them as."""
    for part in ("spec", "status"):
        for amounts in (content.get(part) or {}).values():
            if isinstance(amounts, dict):
                amounts.update({key: str(value) for key, value in amounts.items() if isinstance(value, int)})


def _role(content: Object) -> None:
    content.setdefault("rules", [])


def _binding(content: Object) -> None:
    reference = content.get("roleRef")
    if isinstance(reference, dict):
        reference.setdefault("apiGroup", "rbac.authorization.k8s.io")
    for subject in content.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")


_DEFAULTS: Final[dict[str, Callable[[Object], None]]] = {
    "nodes": _amounts_as_text,
    "resourcequotas": _amounts_as_text,
    "secrets": _secret,
    "validatingwebhookconfigurations": _webhooks,
    "roles": _role,
    "clusterroles": _role,
    "rolebindings": _binding,
    "clusterrolebindings": _binding,
}
_ON_CREATE: Final[dict[str, Callable[[Object], None]]] = {
    "namespaces": _namespace,
    "pods": _pod,
    "resourcequotas": _quota,
}


def _counts_generations(served: Served) -> bool:
    return served.is_custom or served.plural in _COUNTED


def clean(served: Served, content: Object) -> list[str]:
    """Bring an object into the shape it is stored in; give the unknown fields that were dropped."""
    if served.schema is not None:
        return served.schema.clean(content)
    shape = shape_of(served.plural)
    shape.clean(content)
    defaults = _DEFAULTS.get(served.plural)
    # What has not its shape is refused later, for what it came with.
    if defaults is not None and not shape.faults(content, None, already=[]):
        defaults(content)
    return []


def prepare_create(served: Served, content: Object) -> None:
    """Set what the server owns in a new object."""
    if served.is_custom and served.has_status:
        content.pop("status", None)
    if on_create := None if served.is_custom else _ON_CREATE.get(served.plural):
        on_create(content)
    if _counts_generations(served):
        content["metadata"]["generation"] = 1


def prepare_update(served: Served, content: Object, old: Object, subresource: str) -> Object:
    """Give the object that an update makes of the old one: each subresource changes its own part only."""
    if subresource == "status":
        result = copy.deepcopy(old)
        if "status" in content:
            result["status"] = content["status"]
        else:
            result.pop("status", None)
        if not served.is_custom:
            for field in ("labels", "annotations", "finalizers"):
                result["metadata"].pop(field, None)
                if field in content["metadata"]:
                    result["metadata"][field] = content["metadata"][field]
        return result
    if served.has_status:
        content.pop("status", None)
        if "status" in old:
            content["status"] = old["status"]
    if _counts_generations(served) and differs_beyond_metadata(content, old):
        content["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    return content


def faults(served: Served, content: Object, old: Object | None) -> list[FieldError]:
    """Judge an object before it is stored; ``old`` is what it replaces."""
    metadata = content["metadata"]
    if old is None:
        found = name_faults(metadata.get("name", ""), served) + metadata_faults(metadata)
    else:
        found = update_faults(metadata, old["metadata"])
    if served.schema is not None:
        return found + served.schema.faults(content, old, already=found)
    misshapen = shape_of(served.plural).faults(content, old, already=found)
    if misshapen:
        return found + misshapen
    judge = _JUDGES.get(served.plural)
    return found + judge(content, old) if judge else found


def complete(served: Served, content: Object) -> None:
    """Bring a valid object into its last form."""
    whole_numbers(content)
    if served.collection == crds.COLLECTION:
        crds.establish(content)


def _crd_faults(content: Object, _: Object | None) -> list[FieldError]:
    return crds.faults(content)


def _binding_faults(content: Object, old: Object | None) -> list[FieldError]:
    reference = content["roleRef"]
    if old is None or reference == old["roleRef"]:
        return []
    shown = {"APIGroup": reference.get("apiGroup"), "Kind": reference["kind"], "Name": reference["name"]}
    return [FieldError(CauseType.INVALID, "roleRef", shown, "cannot change roleRef")]


def _aggregation_faults(content: Object, _: Object | None) -> list[FieldError]:
    path, rule = "aggregationRule.clusterRoleSelectors", content.get("aggregationRule")
    if rule is None:
        return []
    selectors = rule.get("clusterRoleSelectors") or ()
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        return [FieldError(CauseType.REQUIRED, path, detail=detail)]
    found = []
    for index, selector in enumerate(selectors):
        where = f"{path}[{index}]"
        if faulty := selector_faults(selector, where):
            found += faulty
            found.append(FieldError(CauseType.INVALID, where, None, "invalid label selector."))
    return found


def _webhook_faults(content: Object, _: Object | None) -> list[FieldError]:
    return [
        fault
        for index, webhook in enumerate(content.get("webhooks") or ())
        for field in ("namespaceSelector", "objectSelector")
        for fault in selector_faults(webhook.get(field) or {}, f"webhooks[{index}].{field}")
    ]


def _quota_faults(content: Object, _: Object | None) -> list[FieldError]:
    hard: Any = (content.get("spec") or {}).get("hard") or {}
    found = []
    for key, value in hard.items():
        text = str(value)
        if text.startswith("-"):
            detail = "must be greater than or equal to 0"
            found.append(FieldError(CauseType.INVALID, f"spec.hard[{key}]", text, detail))
        elif "/" in key and ("." in text or text.endswith(("m", "u", "n"))):
            found.append(FieldError(CauseType.INVALID, f"spec.hard[{key}]", text, "must be an integer"))
    return found


_JUDGES: Final[dict[str, Callable[[Object, Object | None], list[FieldError]]]] = {
    "clusterrolebindings": _binding_faults,
    "clusterroles": _aggregation_faults,
    "customresourcedefinitions": _crd_faults,
    "resourcequotas": _quota_faults,
    "rolebindings": _binding_faults,
    "validatingwebhookconfigurations": _webhook_faults,
}
"""What is judged of a built-in object that has the right shape, and of what it replaces."""
