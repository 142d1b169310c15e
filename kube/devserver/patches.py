"""The ways to change an object in place: merge patch, JSON patch, strategic merge patch."""

from __future__ import annotations

import copy
from typing import Any, Final

from kube.devserver.sameness import is_same
from kube.devserver.served import Object
from kube.devserver.status import ApiError, bad_request

MERGE_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "conditions": "type",
    "addresses": "type",
    "ports": "port",
    "ownerReferences": "uid",
    "imagePullSecrets": "name",
    "secrets": "name",
    "webhooks": "name",
}
"""Lists of built-in kinds that a strategic merge patch merges item by item."""
_MERGED_SETS: Final = {"finalizers"}


def merge(target: Any, patch: Any) -> Any:
    """Apply an RFC 7386 merge patch; a list is replaced whole, a null removes."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def strategic(target: Any, patch: Any) -> Any:
    """Apply a strategic merge patch: as a merge patch, but known lists are merged by their keys."""
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            result[name] = [item for item in result.get(name) or [] if item not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, list):
            result[key] = _strategic_list(key, result.get(key) or [], value)
        else:
            result[key] = strategic(result.get(key), value)
    if "$retainKeys" in patch:
        result = {key: value for key, value in result.items() if key in patch["$retainKeys"]}
    return result


def _strategic_list(field: str, target: list[Any], patch: list[Any]) -> list[Any]:
    if field in _MERGED_SETS:
        return [*target, *(item for item in patch if item not in target)]
    merge_key = MERGE_KEYS.get(field)
    if merge_key is None or not all(isinstance(item, dict) for item in (*target, *patch)):
        return patch
    if any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    result = copy.copy(target)
    for item in patch:
        found = next((i for i, old in enumerate(result) if old.get(merge_key) == item.get(merge_key)), None)
        if item.get("$patch") == "delete":
            if found is not None:
                del result[found]
        elif found is None:
            result.append(strategic({}, item))
        else:
            result[found] = strategic(result[found], item)
    return result


def _rejected() -> ApiError:
    return ApiError(
        422, "Invalid", "the server rejected our request due to an error in our request", details={}
    )


def _steps(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise bad_request(f"error decoding patch: invalid pointer {pointer!r}")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


class _Place:
    """Where a JSON pointer leads: a container and the key or position in it."""

    def __init__(self, document: Any, pointer: Any) -> None:
        *way, self.key = _steps(pointer) or [""]
        self.container = document
        for step in way:
            self.container = _child(self.container, step)

    def read(self) -> Any:
        return _child(self.container, self.key)

    def position(self, *, adding: bool) -> int:
        if adding and self.key == "-":
            return len(self.container)
        limit = len(self.container) + (1 if adding else 0)
        if not self.key.isdigit() or int(self.key) >= limit:
            raise _rejected()
        return int(self.key)

    def add(self, value: Any) -> None:
        if isinstance(self.container, list):
            self.container.insert(self.position(adding=True), value)
        elif isinstance(self.container, dict):
            self.container[self.key] = value
        else:
            raise _rejected()

    def remove(self) -> Any:
        value = self.read()
        if isinstance(self.container, list):
            del self.container[self.position(adding=False)]
        else:
            del self.container[self.key]
        return value


def _child(container: Any, step: str) -> Any:
    if isinstance(container, dict) and step in container:
        return container[step]
    if isinstance(container, list) and step.isdigit() and int(step) < len(container):
        return container[int(step)]
    raise _rejected()


def json_patch(target: Object, patch: Any) -> Object:
    """Apply an RFC 6902 patch to a copy. Raise 422 when an operation does not apply, as a failed test does."""
    if not isinstance(patch, list):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch"
        )
    document: Object = copy.deepcopy(target)
    for operation in patch:
        if not isinstance(operation, dict):
            raise bad_request("error decoding patch: an operation is an object")
        place = _Place(document, operation.get("path"))
        match operation.get("op"):
            case "add":
                place.add(operation.get("value"))
            case "replace":
                place.remove()
                place.add(operation.get("value"))
            case "remove":
                place.remove()
            case "test":
                if not is_same(place.read(), operation.get("value")):
                    raise _rejected()
            case "move":
                place.add(_Place(document, operation.get("from")).remove())
            case "copy":
                place.add(copy.deepcopy(_Place(document, operation.get("from")).read()))
            case unknown:
                raise bad_request(f"error decoding patch: unexpected kind: {unknown}")
    return document
