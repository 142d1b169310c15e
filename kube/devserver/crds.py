"""CustomResourceDefinitions: what each of them makes the server serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kube.devserver.defaulting import check_nodes
from kube.devserver.jsonpath import compiled
from kube.devserver.metadata import now
from kube.devserver.schema import Schema
from kube.devserver.served import Column, Object, Served
from kube.devserver.status import CauseType, FieldError

COLLECTION: Final = "apiextensions.k8s.io/customresourcedefinitions"


def _columns(version: dict[str, Any]) -> tuple[Column, ...]:
    given = version.get("additionalPrinterColumns") or ()
    if not given:
        return (Column("Age", "date", ".metadata.creationTimestamp"),)
    return tuple(
        Column(
            column["name"],
            column["type"],
            column["jsonPath"],
            column.get("description", ""),
            column.get("priority", 0),
            column.get("format", ""),
        )
        for column in given
    )


def served_by(crd: Object) -> Iterator[Served]:
    """Give one entry per served version."""
    spec = crd["spec"]
    names = spec["names"]
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        schema = version["schema"]["openAPIV3Schema"]
        yield Served(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            singular=names.get("singular") or names["kind"].lower(),
            list_kind=names.get("listKind") or f"{names['kind']}List",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            has_status="status" in (version.get("subresources") or {}),
            selectable_fields=tuple(
                entry["jsonPath"].removeprefix(".") for entry in version.get("selectableFields") or ()
            ),
            columns=_columns(version),
            schema=Schema(schema),
            is_going=bool(crd["metadata"].get("deletionTimestamp")),
        )


def faults(crd: Object) -> list[FieldError]:
    """Judge a CRD of the right shape: its name, that every version has a schema, and that rules and paths compile."""
    found: list[FieldError] = []
    spec = crd["spec"]
    name, wanted = crd["metadata"].get("name"), f"{spec['names'].get('plural')}.{spec['group']}"
    if name != wanted:
        detail = 'must be spec.names.plural+"."+spec.group'
        found.append(FieldError(CauseType.INVALID, "metadata.name", name, detail))
    for index, version in enumerate(spec["versions"]):
        found += _version_faults(version, f"spec.versions[{index}]")
    return found


def _version_faults(version: dict[str, Any], path: str) -> Iterator[FieldError]:
    node = (version.get("schema") or {}).get("openAPIV3Schema")
    if not isinstance(node, dict):
        yield FieldError(CauseType.REQUIRED, f"{path}.schema.openAPIV3Schema", detail="schemas are required")
        return
    try:
        check_nodes(node, "")
        Schema(node).compile()
    except ValueError as error:
        yield FieldError(CauseType.INVALID, f"{path}.schema.openAPIV3Schema", "", str(error))
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        try:
            compiled(column.get("jsonPath", ""))
        except ValueError as error:
            where = f"{path}.additionalPrinterColumns[{index}].jsonPath"
            yield FieldError(CauseType.INVALID, where, column.get("jsonPath"), str(error))


_CONDITIONS: Final = (
    ("NamesAccepted", "NoConflicts", "no conflicts found"),
    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
)
_GOING: Final = ("Terminating", "InstanceDeletionInProgress", "CustomResource deletion is in progress")


def establish(crd: Object) -> None:
    """Write the status that says the resource is served; here that is at once. It is until the last object is gone."""
    spec = crd["spec"]
    names = dict(spec["names"])
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})
    old = {entry["type"]: entry for entry in (crd.get("status") or {}).get("conditions") or ()}
    is_going = crd["metadata"].get("deletionTimestamp")
    conditions = [
        old.get(kind)
        or {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now()}
        for kind, reason, message in (*_CONDITIONS, *([_GOING] if is_going else []))
    ]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    crd["status"] = {"conditions": conditions, "acceptedNames": names, "storedVersions": stored}
