"""delete and deletecollection."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from kube.devserver.answer import Answer
from kube.devserver.reading import select
from kube.devserver.request import Request, Target
from kube.devserver.served import Object, Served
from kube.devserver.state import State
from kube.devserver.status import bad_request, conflict, not_found
from kube.devserver.store import Record
from kube.devserver.terminating import Removal, let_go


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
            return let_go(state, served, record, dry_run=request.is_dry_run)


def _check_preconditions(record: Record, target: Target, kind: str, options: Object) -> None:
    wanted = options.get("preconditions") or {}
    stored = {"uid": record.uid, "resourceVersion": str(record.version)}
    for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(field) not in (None, "", stored[field]):
            happened = "deleted and then recreated" if field == "uid" else "modified"
            why = f"the {word} in the precondition ({wanted[field]}) does not match the {word} in record ({stored[field]})"
            raise conflict(target.group, kind, target.name, f"{why}. The object might have been {happened}")
