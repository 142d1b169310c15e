"""metadata of every object: what the server fills in, what a client may not change, and which names are names."""

from __future__ import annotations

import re
import secrets
import uuid
from datetime import UTC, datetime
from typing import Any, Final

from kube.devserver.sameness import is_same
from kube.devserver.served import Object, Served
from kube.devserver.status import CauseType, FieldError, go_quoted

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_MAX_GENERATED: Final = 58

_TYPES: Final = {
    **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion", "selfLink"), "string"),
    **dict.fromkeys(("labels", "annotations"), "map[string]string"),
    "finalizers": "[]string",
    "ownerReferences": "[]v1.OwnerReference",
}
"""The Go types of fields that clients send."""
_TIMES: Final = ("creationTimestamp", "deletionTimestamp")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_FIELDS: Final = frozenset(_TYPES) | {
    *_TIMES,
    "generation",
    "deletionGracePeriodSeconds",
    "managedFields",
}
_OWNER_FIELDS: Final = frozenset({"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"})
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})

_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_RULE: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def now() -> str:
    """The time as the API server writes it: whole seconds, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def generated_name(prefix: str) -> str:
    return prefix[:_MAX_GENERATED] + "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(5))


def stamp(content: Object, *, namespace: str) -> None:
    """Fill in what the server decides about a new object."""
    metadata = content["metadata"]
    for field in (
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
    ):
        metadata.pop(field, None)
    if namespace:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = now()


def keep_server_fields(content: Object, old: Object) -> None:
    """Undo a client's changes of metadata that only the server may make."""
    metadata, before = content["metadata"], old["metadata"]
    for field in (*_IMMUTABLE, "generation"):
        if field in before:
            metadata[field] = before[field]
        else:
            metadata.pop(field, None)
    for field in ("managedFields", "selfLink"):
        metadata.pop(field, None)


def differs_beyond_metadata(content: Object, old: Object) -> bool:
    return not is_same({**content, "metadata": None}, {**old, "metadata": None})


def _name_rules(name: str, *, as_label: bool) -> list[str]:
    rules = []
    limit, pattern, rule = (63, _LABEL, _LABEL_RULE) if as_label else (253, _SUBDOMAIN, _SUBDOMAIN_RULE)
    if len(name) > limit:
        rules.append(f"must be no more than {limit} {'bytes' if as_label else 'characters'}")
    if pattern.fullmatch(name) is None:
        rules.append(rule)
    return rules


def path_segment_rules(name: str) -> list[str]:
    """Say why a name cannot be a part of a URL path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{letter}'" for letter in "/%" if letter in name]


def name_faults(name: str, served: Served) -> list[FieldError]:
    """Judge metadata.name."""
    if not name:
        return [FieldError(CauseType.REQUIRED, "metadata.name", detail="name or generateName is required")]
    if not served.strict_names:
        rules = path_segment_rules(name)
    else:
        rules = _name_rules(name, as_label=served.plural == "namespaces" and not served.group)
    return [FieldError(CauseType.INVALID, "metadata.name", name, rule) for rule in rules]


def qualified_faults(name: str, path: str) -> list[FieldError]:
    """Judge the name of a label, or what is written like one."""
    prefix, slash, short = name.rpartition("/")
    rules = []
    if slash and (not prefix or _name_rules(prefix, as_label=False)):
        rules.append(f"prefix part {_SUBDOMAIN_RULE}")
    if not short:
        rules.append("name part must be non-empty")
    if len(short) > 63:
        rules.append("name part must be no more than 63 bytes")
    if _QUALIFIED.fullmatch(short) is None:
        rules.append(_QUALIFIED_RULE)
    return [FieldError(CauseType.INVALID, path, name, rule) for rule in rules]


def label_value_faults(value: str, path: str) -> list[FieldError]:
    """Judge the value of a label."""
    rules = ["must be no more than 63 bytes"] if len(value) > 63 else []
    if value and _QUALIFIED.fullmatch(value) is None:
        rules.append(_VALUE_RULE)
    return [FieldError(CauseType.INVALID, path, value, rule) for rule in rules]


def labels_faults(labels: dict[str, str], path: str) -> list[FieldError]:
    """Judge names and values of labels."""
    found: list[FieldError] = []
    for key, value in labels.items():
        found += qualified_faults(key, path) + label_value_faults(value, path)
    return found


def metadata_faults(metadata: dict[str, Any]) -> list[FieldError]:
    """Judge labels, annotations and finalizers."""
    found = labels_faults(metadata.get("labels") or {}, "metadata.labels")
    for key in metadata.get("annotations") or {}:
        found += qualified_faults(key.lower(), "metadata.annotations")
    for finalizer in metadata.get("finalizers") or []:
        found += qualified_faults(finalizer, "metadata.finalizers")
    for owner in metadata.get("ownerReferences") or []:
        found += _owner_faults(owner)
    return found


def _owner_faults(owner: dict[str, Any]) -> list[FieldError]:
    path = "metadata.ownerReferences"
    version = str(owner.get("apiVersion") or "").rpartition("/")[2]
    found = []
    if not version:
        found.append(
            FieldError(CauseType.INVALID, f"{path}.apiVersion", version, "version must not be empty")
        )
    return found + [
        FieldError(CauseType.INVALID, f"{path}.{field}", "", "must not be empty")
        for field in ("kind", "name", "uid")
        if not owner.get(field)
    ]


def update_faults(metadata: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    """Judge a change of metadata: nothing may begin to hold an object that is going."""
    found = metadata_faults(metadata)
    added = set(metadata.get("finalizers") or []) - set(old.get("finalizers") or [])
    if old.get("deletionTimestamp") and added:
        detail = f"no new finalizers can be added if the object is being deleted, found new finalizers {sorted(added)}"
        found.append(FieldError(CauseType.FORBIDDEN, "metadata.finalizers", detail=detail))
    return found


def unknown_fields(metadata: dict[str, Any]) -> list[str]:
    """Drop the fields of metadata that nobody knows; give their paths."""
    unknown = [f"metadata.{field}" for field in metadata if field not in _FIELDS]
    for index, owner in enumerate(metadata.get("ownerReferences") or ()):
        unknown += [
            f"metadata.ownerReferences[{index}].{field}" for field in owner if field not in _OWNER_FIELDS
        ]
        for field in owner.keys() - _OWNER_FIELDS:
            del owner[field]
    for field in metadata.keys() - _FIELDS:
        del metadata[field]
    return unknown


def finalizer_warnings(metadata: dict[str, Any], old: dict[str, Any]) -> list[str]:
    """Warn of new finalizers that nobody's domain stands before."""
    added = set(metadata.get("finalizers") or ()) - set(old.get("finalizers") or ())
    warnings = []
    for name in sorted(added - _STANDARD_FINALIZERS):
        if "/" not in name:
            path = " including a path (/)" if "." in name else ""
            why = f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
            warnings.append(f"metadata.finalizers: {go_quoted(name)}: {why}")
    return warnings


def shape_fault(content: Any) -> str | None:
    """Say what is wrong with the types of metadata, as decoding them would; None when nothing is."""
    if not isinstance(content, dict):
        return f"json: cannot unmarshal {_go_type(content)} into Go value of type map[string]interface {{}}"
    metadata = content.get("metadata")
    if metadata is None:
        metadata = content["metadata"] = {}
    if not isinstance(metadata, dict):
        return f"json: cannot unmarshal {_go_type(metadata)} into Go value of type v1.ObjectMeta"
    for field in [field for field, value in metadata.items() if value is None]:
        del metadata[field]
    for field, given in metadata.items():
        wrong = _wrong_part(given, _TYPES.get(field))
        if wrong is not None:
            value, wanted = wrong
            return f"json: cannot unmarshal {_go_type(value)} into Go struct field ObjectMeta.{field} of type {wanted}"
        if field in _TIMES and not _TIME.match(str(given)):
            return f'parsing time "{given}" as "2006-01-02T15:04:05Z07:00": cannot parse "{given}" as "2006"'
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        if not metadata.get(field):
            metadata.pop(field, None)
    return None


def _wrong_part(given: Any, wanted: str | None) -> tuple[Any, str] | None:
    """Give what is not of the wanted Go type, and the type it should have; None when all of it is."""
    if wanted == "string":
        return None if isinstance(given, str) else (given, wanted)
    if wanted == "map[string]string":
        if not isinstance(given, dict):
            return given, wanted
        given.update({key: "" for key, value in given.items() if value is None})
        return next(((value, "string") for value in given.values() if not isinstance(value, str)), None)
    if wanted is not None:
        item, sort = wanted.removeprefix("[]"), str if wanted == "[]string" else dict
        if not isinstance(given, list):
            return given, wanted
        return next(((value, item) for value in given if not isinstance(value, sort)), None)
    return None


def _go_type(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")
