"""Table output, as kubectl get asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from kube.devserver.jsonpath import compiled
from kube.devserver.served import Column, Object, Served

_NAME: Final = Column(
    "Name", "string", ".metadata.name", "Name must be unique within a namespace.", format="name"
)
_AGE: Final = Column("Age", "date", ".metadata.creationTimestamp", "CreationTimestamp of the object.")
_UNKNOWN: Final = "<unknown>"
_NONE: Final = "<none>"

Cell = Callable[[Object], Any]


def age(timestamp: str, *, now: datetime) -> str:
    """Write how long ago a time was, as kubectl does: two units at most."""
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<invalid>"
    seconds = int((now - then).total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 730:
        return f"{days}d"
    years, rest = divmod(days, 365)
    return f"{years}y{rest}d" if years < 8 and rest else f"{years}y"


def _roles(node: Object) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = node["metadata"].get("labels") or {}
    return ",".join(sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))) or _NONE


def _node_status(node: Object) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((entry.get("status") for entry in conditions if entry.get("type") == "Ready"), None)
    words = [
        {"True": "Ready", "False": "NotReady"}.get(ready or "", "Unknown" if ready is None else "NotReady")
    ]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _pod_status(pod: Object) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    status = pod.get("status") or {}
    return str(status.get("reason") or status.get("phase") or "Unknown")


def _pod_ready(pod: Object) -> str:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    ready = sum(1 for status in statuses if status.get("ready"))
    return f"{ready}/{len((pod.get('spec') or {}).get('containers') or ())}"


def _quota_line(quota: Object) -> str:
    hard = (quota.get("spec") or {}).get("hard") or {}
    used = (quota.get("status") or {}).get("used") or {}
    return ", ".join(f"{key}: {used.get(key, '0')}/{limit}" for key, limit in sorted(hard.items()))


def _role_ref(binding: Object) -> str:
    return f"{binding['roleRef']['kind']}/{binding['roleRef']['name']}"


def _at(path: str, missing: Any = "") -> Cell:
    find = compiled(path)

    def cell(content: Object) -> Any:
        found = find(content)
        return found[0] if found and found[0] is not None else missing

    return cell


def _count(path: str) -> Cell:
    return lambda content: len(_at(path, ())(content))


_BUILT_IN: Final[dict[str, tuple[tuple[str, str, Cell], ...]]] = {
    "/namespaces": (("Status", "string", _at(".status.phase", "Active")),),
    "/nodes": (("Status", "string", _node_status), ("Roles", "string", _roles)),
    "/pods": (
        ("Ready", "string", _pod_ready),
        ("Status", "string", _pod_status),
        ("Node", "string", _at(".spec.nodeName", _NONE)),
    ),
    "/resourcequotas": (("Request", "string", _quota_line),),
    "/events": (
        ("Type", "string", _at(".type")),
        ("Reason", "string", _at(".reason")),
        ("Message", "string", _at(".message")),
    ),
    "/configmaps": (("Data", "integer", _count(".data")),),
    "/secrets": (("Type", "string", _at(".type", "Opaque")), ("Data", "integer", _count(".data"))),
    "/serviceaccounts": (("Secrets", "integer", _count(".secrets")),),
    "coordination.k8s.io/leases": (("Holder", "string", _at(".spec.holderIdentity")),),
    "rbac.authorization.k8s.io/rolebindings": (("Role", "string", _role_ref),),
    "rbac.authorization.k8s.io/clusterrolebindings": (("Role", "string", _role_ref),),
    "admissionregistration.k8s.io/validatingwebhookconfigurations": (
        ("Webhooks", "integer", _count(".webhooks")),
    ),
    "apiextensions.k8s.io/customresourcedefinitions": (("Kind", "string", _at(".spec.names.kind")),),
}


def _custom_cell(column: Column) -> Cell:
    find = compiled(column.path)

    def cell(content: Object) -> Any:
        found = find(content)
        if not found or found[0] is None:
            return None
        value = found[0]
        if column.type == "date":
            return age(str(value), now=datetime.now(UTC))
        if column.type == "string" and not isinstance(value, str):
            return str(value).lower() if isinstance(value, bool) else str(value)
        return value

    return cell


def _age_cell(content: Object) -> Any:
    created = content["metadata"].get("creationTimestamp")
    return age(created, now=datetime.now(UTC)) if created else _UNKNOWN


def _layout(served: Served) -> tuple[list[Column], list[Cell]]:
    columns, cells = [_NAME], [_at(".metadata.name")]
    if served.is_custom and served.columns:
        columns += served.columns
        cells += [_custom_cell(column) for column in served.columns]
        return columns, cells
    for name, kind, cell in _BUILT_IN.get(served.collection, ()):
        columns.append(Column(name, kind, ""))
        cells.append(cell)
    return [*columns, _AGE], [*cells, _age_cell]


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": "string" if column.type == "date" and not column.path else column.type,
        "format": column.format,
        "description": column.description
        or f"Custom resource definition column (in JSONPath format): {column.path}",
        "priority": column.priority,
    }


def table(
    served: Served, objects: Iterable[Object], metadata: Object, *, include: str, headers: bool = True
) -> Object:
    """Lay objects out as meta.k8s.io/v1 Table. ``include`` says what comes beside the cells: Metadata, Object, None."""
    columns, cells = _layout(served)
    rows = []
    for content in objects:
        row: Object = {"cells": [cell(content) for cell in cells]}
        if include == "Object":
            row["object"] = content
        elif include != "None":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": content["metadata"],
            }
        rows.append(row)
    definitions = [_definition(column) for column in columns] if headers else None
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }
