"""What is going: it takes nothing new, has its content go along, and is gone with the last of what holds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kube.devserver import crds
from kube.devserver.metadata import now
from kube.devserver.request import Target
from kube.devserver.served import BUILT_IN, Object, Served
from kube.devserver.state import State
from kube.devserver.status import forbidden, no_such_path, not_found
from kube.devserver.store import Key, Record

_BY_KIND: Final = {entry.kind: entry for entry in BUILT_IN}
_NAMESPACES: Final = _BY_KIND["Namespace"]
_CRDS: Final = _BY_KIND["CustomResourceDefinition"]


@dataclass(frozen=True)
class Removal:
    """What a delete did: the object is gone, or still there because something holds it."""

    record: Record
    is_gone: bool


def refuse_new(state: State, target: Target, served: Served) -> None:
    """Refuse an object whose namespace or kind is going, with 403, or gone, with 404."""
    current = state.catalogue.find(target.group, target.version, target.plural)
    if current is None:
        raise no_such_path()
    if current.is_going:
        why = "create not allowed while custom resource definition is terminating"
        raise forbidden(target.group, target.plural, target.name, why)
    if not served.namespaced:
        return
    record = state.get(_NAMESPACES, ("", target.namespace))
    if record is None:
        raise not_found("", "namespaces", target.namespace)
    if _is_going(record.object):
        why = f"unable to create new content in namespace {target.namespace} because it is being terminated"
        raise forbidden(target.group, target.plural, target.name, why)


def let_go(state: State, served: Served, record: Record, *, dry_run: bool) -> Removal:
    """Delete an object, or mark it as going where finalizers or content hold it."""
    content = record.object
    metadata = content["metadata"]
    held = bool(metadata.get("finalizers")) or _has_content(state, served, content)
    if dry_run:
        return Removal(record, is_gone=not held)
    if not held:
        return Removal(_delete(state, served, record.key, content), is_gone=True)
    if not _is_going(content):
        metadata["deletionTimestamp"] = now()
        metadata["deletionGracePeriodSeconds"] = 0
        if "generation" in metadata:
            metadata["generation"] += 1
        if served == _NAMESPACES:
            content.setdefault("status", {})["phase"] = "Terminating"
        elif served == _CRDS:
            crds.establish(content)
        record = state.put(served, record.key, content)
    _empty(state, served, content)
    return Removal(record, is_gone=state.get(served, record.key) is None)


def finish_if_released(state: State, served: Served, key: Key, content: Object) -> Record:
    """Store a changed object, or delete it when it was going and nothing holds it any more."""
    if _is_released(state, served, content):
        return _delete(state, served, key, content)
    return state.put(served, key, content)


def resume(state: State) -> None:
    """Go on with what a kill left half done."""
    for served in (_CRDS, _NAMESPACES):
        for record in list(state.store.collection(served.collection).records.values()):
            if _is_going(record.object):
                _empty(state, served, record.object)
                _finish(state, served, record.key)


def _is_going(content: Object) -> bool:
    return bool(content["metadata"].get("deletionTimestamp"))


def _is_released(state: State, served: Served, content: Object) -> bool:
    held = content["metadata"].get("finalizers") or _has_content(state, served, content)
    return _is_going(content) and not held


def _contents(state: State, served: Served, content: Object) -> Iterator[tuple[Served, Record]]:
    """Give what has to go before the object can: what is in a namespace, what a CRD defines."""
    if served == _CRDS:
        yield from state.instances(content)
    if served != _NAMESPACES:
        return
    namespace = content["metadata"]["name"]
    for entry in state.catalogue.namespaced_collections():
        for record in state.store.collection(entry.collection).within(namespace):
            yield entry, record


def _has_content(state: State, served: Served, content: Object) -> bool:
    return next(_contents(state, served, content), None) is not None


def _empty(state: State, served: Served, content: Object) -> None:
    for entry, record in list(_contents(state, served, content)):
        let_go(state, entry, record, dry_run=False)


def _delete(state: State, served: Served, key: Key, content: Object) -> Record:
    """Delete an object, and with the last one its namespace and its kind where those are going."""
    record = state.delete(served, key, content)
    current = state.catalogue.find(served.group, served.version, served.plural)
    if current is not None and current.is_going:
        _finish(state, _CRDS, ("", f"{served.plural}.{served.group}"))
    if key[0]:
        _finish(state, _NAMESPACES, ("", key[0]))
    return record


def _finish(state: State, served: Served, key: Key) -> None:
    record = state.get(served, key)
    if record is not None and _is_released(state, served, content := record.object):
        _delete(state, served, key, content)
