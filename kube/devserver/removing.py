"""delete and deletecollection: finalizers hold an object back, a namespace takes its content along."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kube.devserver import crds
from kube.devserver.answer import Answer
from kube.devserver.metadata import now
from kube.devserver.reading import select
from kube.devserver.request import Request, Target
from kube.devserver.served import Object, Served
from kube.devserver.state import State
from kube.devserver.status import bad_request, conflict, not_found
from kube.devserver.store import Key, Record

_NAMESPACES: Final = "/namespaces"


@dataclass(frozen=True)
class Removal:
    """What a delete did: the object is gone, or still there because something holds it."""

    record: Record
    is_gone: bool


async def delete(state: State, request: Request, target: Target, served: Served) -> Answer:
    """Answer a DELETE of one object."""
    options = _options(request)
    removal = await _remove(state, request, target, served, options)
    if not removal.is_gone:
        return Answer(removal.record.raw)
    group = {"group": target.group} if target.group else {}
    details = {"name": target.name, **group, "kind": target.plural, "uid": removal.record.uid}
    return Answer.of(
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    )


async def delete_collection(state: State, request: Request, target: Target, served: Served) -> Answer:
    """Answer a DELETE of everything a selector picks."""
    options = _options(request)
    page = select(state, request, target, served)
    for record in page.records:
        one = replace(target, verb="delete", name=record.key[1], namespace=record.key[0] or target.namespace)
        if state.get(served, record.key) is not None:
            await _remove(state, request, one, served, options)
    head = {"kind": served.list_name, "apiVersion": served.api_version, "metadata": page.metadata()}
    opening = msgspec.json.encode(head)[:-1] + b',"items":['
    return Answer(opening + b",".join(record.raw for record in page.records) + b"]}")


def _options(request: Request) -> Object:
    options = request.decode_object() if request.body.strip() else {}
    if options.get("dryRun"):
        request.query["dryRun"] = ",".join(options["dryRun"])
    _ = request.is_dry_run
    if not isinstance(options.get("preconditions") or {}, dict):
        raise bad_request("preconditions: expected an object")
    return options


async def _remove(state: State, request: Request, target: Target, served: Served, options: Object) -> Removal:
    """Delete one object. Raise 404, 409, or a denial."""
    key = (target.namespace if served.namespaced else "", target.name)
    while True:
        record = state.get(served, key)
        if record is None:
            raise not_found(target.group, target.plural, target.name)
        _check_preconditions(record, target, served.kind, options)
        await state.admission.admit(
            "DELETE",
            target,
            served,
            request.user,
            content=None,
            old=record.object,
            name=target.name,
            dry_run=request.is_dry_run,
            options={"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **options},
        )
        if state.get(served, key) is record:
            return _let_go(state, served, record, dry_run=request.is_dry_run)


def _check_preconditions(record: Record, target: Target, kind: str, options: Object) -> None:
    wanted = options.get("preconditions") or {}
    stored = {"uid": record.uid, "resourceVersion": str(record.version)}
    for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(field) not in (None, "", stored[field]):
            happened = "deleted and then recreated" if field == "uid" else "modified"
            why = f"the {word} in the precondition ({wanted[field]}) does not match the {word} in record ({stored[field]})"
            raise conflict(target.group, kind, target.name, f"{why}. The object might have been {happened}")


def _let_go(state: State, served: Served, record: Record, *, dry_run: bool) -> Removal:
    content = record.object
    metadata = content["metadata"]
    held = bool(metadata.get("finalizers")) or _has_content(state, served, content)
    if dry_run:
        return Removal(record, is_gone=not held)
    if not held:
        gone = state.delete(served, record.key, content)
        _release_namespace(state, record.key[0])
        return Removal(gone, is_gone=True)
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = now()
        metadata["deletionGracePeriodSeconds"] = 0
        if "generation" in metadata:
            metadata["generation"] += 1
        if served.collection == _NAMESPACES:
            content.setdefault("status", {})["phase"] = "Terminating"
        record = state.put(served, record.key, content)
    _empty(state, served, content)
    return Removal(record, is_gone=state.get(served, record.key) is None)


def _contents(state: State, served: Served, content: Object) -> list[tuple[Served, Record]]:
    """Give what has to go before the object can: what is in a namespace, what a CRD defines."""
    if served.collection == crds.COLLECTION:
        return list(state.instances(content))
    if served.collection != _NAMESPACES:
        return []
    namespace = content["metadata"]["name"]
    return [
        (entry, record)
        for entry in state.catalogue.namespaced_collections()
        for record in state.store.collection(entry.collection).within(namespace)
    ]


def _has_content(state: State, served: Served, content: Object) -> bool:
    return bool(_contents(state, served, content))


def _empty(state: State, served: Served, content: Object) -> None:
    for entry, record in _contents(state, served, content):
        _let_go(state, entry, record, dry_run=False)
    left = state.get(served, ("", content["metadata"]["name"]))
    if left is not None and served.collection == crds.COLLECTION:
        finish_if_released(state, served, left.key, left.object)


def finish_if_released(state: State, served: Served, key: Key, content: Object) -> Record:
    """Store a changed object, or delete it when it was going and nothing holds it any more."""
    metadata = content["metadata"]
    going = metadata.get("deletionTimestamp") and not metadata.get("finalizers")
    if not going or _has_content(state, served, content):
        return state.put(served, key, content)
    record = state.delete(served, key, content)
    _release_namespace(state, key[0])
    return record


def _release_namespace(state: State, name: str) -> None:
    """Let a terminating namespace go with the last object in it."""
    if not name:
        return
    served = state.catalogue.find("", "v1", "namespaces")
    record = state.store.get(_NAMESPACES, ("", name))
    if served is None or record is None or not record.object["metadata"].get("deletionTimestamp"):
        return
    content = record.object
    if not content["metadata"].get("finalizers") and not _has_content(state, served, content):
        state.delete(served, record.key, content)
