"""create, update and patch: decode, clean, judge, ask the webhooks, then commit if nothing moved meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kube.devserver import patches, strategy
from kube.devserver.answer import Answer
from kube.devserver.apply import apply
from kube.devserver.escalation import refuse_escalation
from kube.devserver.metadata import (
    finalizer_warnings,
    generated_name,
    keep_server_fields,
    shape_fault,
    stamp,
    unknown_fields,
)
from kube.devserver.quotas import check_quotas
from kube.devserver.request import Request, Target
from kube.devserver.sameness import is_same
from kube.devserver.served import Object, Served
from kube.devserver.state import State
from kube.devserver.status import (
    MODIFIED,
    ApiError,
    CauseType,
    FieldError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    method_not_allowed,
    not_found,
    unsupported_media_type,
)
from kube.devserver.store import Key, Record
from kube.devserver.terminating import finish_if_released, refuse_new

_PATCH_TYPES: Final = (
    "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, "
    "application/apply-patch+yaml"
)


@dataclass(frozen=True)
class Write:
    """One write request with all it needs."""

    state: State
    request: Request
    target: Target
    served: Served

    @property
    def key(self) -> Key:
        return (self.target.namespace if self.served.namespaced else "", self.target.name)

    @property
    def subject(self) -> tuple[str, str, str]:
        return self.target.group, self.target.plural, self.target.name

    def judge(self, content: Object, old: Object | None) -> None:
        """Raise 422 with every fault of the object; complete it where it has none."""
        faults = strategy.faults(self.served, content, old)
        if faults:
            metadata = content["metadata"]
            name = metadata.get("name") or metadata.get("generateName") or ""
            raise invalid(self.served.group, self.served.kind, name, faults)
        strategy.complete(self.served, content)

    def clean(self, content: Object) -> list[str]:
        """Clean the object. Give a warning per unknown field, or raise as fieldValidation=Strict demands."""
        unknown = sorted(unknown_fields(content["metadata"]) + strategy.clean(self.served, content))
        if not self.served.is_custom:
            return []
        unknown = [f'unknown field "{path}"' for path in unknown]
        if self.request.method != "PATCH":
            unknown = [f'duplicate field "{path}"' for path in self.request.repeated_fields()] + unknown
        mode = self.request.query.get("fieldValidation") or "Warn"
        if not unknown or mode == "Ignore":
            return []
        if mode != "Strict":
            return unknown
        fault = f"strict decoding error: {', '.join(unknown)}"
        if self.request.method == "PATCH":
            shown = msgspec.json.encode(content).decode()
            raise invalid("", "", "", [FieldError(CauseType.INVALID, "patch", shown, fault)])
        kind = self.served.kind
        raise bad_request(f'{kind} in version "{self.served.version}" cannot be handled as a {kind}: {fault}')

    async def admit(self, operation: str, content: Object, old: Object | None, *, name: str) -> list[str]:
        """Ask whether the user may write just this, and then the webhooks. Raise a refusal; give the warnings."""
        # An object that is posted has no name yet for rights to be about.
        named = self.target if self.request.method != "POST" else replace(self.target, name="")
        refuse_escalation(self.state.authorizer, self.request.user, named, content, old)
        kind = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions"}[operation]
        return await self.state.admission.admit(
            operation,
            self.target,
            self.served,
            self.request.user,
            content=content,
            old=old,
            name=name,
            dry_run=self.request.is_dry_run,
            options={"kind": kind, "apiVersion": "meta.k8s.io/v1"},
        )


def _accept_kind(content: Object, served: Served, body: bytes) -> None:
    """Refuse an object of another kind or version than the path names; of built-in kinds both may be left out."""
    for field, wanted in (("apiVersion", served.api_version), ("kind", served.kind)):
        given = content.get(field)
        if not given and not served.is_custom:
            given = content[field] = wanted
        if not isinstance(given, str | None):
            sort = "number" if isinstance(given, int | float) and not isinstance(given, bool) else "value"
            why = f"json parse error: json: cannot unmarshal {sort} into Go struct field .{field} of type string"
            raise _unrecognized(served, body, f"couldn't get version/kind; {why}")
        if not given and field == "kind":
            raise _unrecognized(
                served, body, f"Object 'Kind' is missing in '{body.decode(errors='replace')}'"
            )
    if (version := content.get("apiVersion") or "") != served.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({served.api_version})"
        )
    if content["kind"] != served.kind:
        fault = FieldError(CauseType.INVALID, "kind", content["kind"], f"must be {served.kind}")
        raise invalid(served.group, content["kind"], content["metadata"].get("name", ""), [fault])


def _unrecognized(served: Served, body: bytes, why: str) -> ApiError:
    start = body[:30].decode(errors="replace")
    shown = f"{start} ..." if len(body) > len(start) else start
    return bad_request(
        f"the object provided is unrecognized (must be of type {served.kind}): {why} ({shown})"
    )


def _checked(content: object, write: Write) -> Object:
    served = write.served
    if fault := shape_fault(content):
        raise bad_request(
            f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}: {fault}'
        )
    if not isinstance(content, dict):
        raise bad_request("the object is no object")
    _accept_kind(content, served, write.request.body)
    return content


async def create(write: Write) -> Answer:
    """Answer a POST."""
    content = _checked(write.request.decode_object(), write)
    return await create_object(write, content)


async def create_object(write: Write, content: Object) -> Answer:
    """Create an object that was decoded and is of the right kind."""
    served, target, metadata = write.served, write.target, content["metadata"]
    namespace = target.namespace if served.namespaced else ""
    if served.namespaced and not namespace:
        raise method_not_allowed(target.group, target.plural, "create")
    if served.namespaced and metadata.get("namespace") not in (None, "", namespace):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if metadata.get("resourceVersion") and not write.request.is_dry_run:
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generated_name(metadata["generateName"])
    write = replace(write, target=replace(target, name=metadata.get("name") or ""))
    refuse_new(write.state, write.target, served)
    warnings = write.clean(content)
    stamp(content, namespace=namespace)
    strategy.prepare_create(served, content)
    write.judge(content, None)
    if served.is_custom:
        warnings += finalizer_warnings(metadata, {})
    warnings += await write.admit("CREATE", content, None, name=write.target.name)
    if write.state.get(served, write.key) is not None:
        raise already_exists(*write.subject)
    refuse_new(write.state, write.target, served)
    check_quotas(write.state, served, namespace, write.target.name)
    if write.request.is_dry_run:
        return Answer.of(content, code=201, warnings=tuple(warnings))
    record = write.state.put(served, write.key, content)
    return Answer(record.raw, 201, warnings=tuple(warnings))


async def update(write: Write) -> Answer:
    """Answer a PUT."""
    given = _checked(write.request.decode_object(), write)
    metadata = given["metadata"]
    if metadata.get("namespace") not in (None, "", write.key[0]):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    encoded = msgspec.json.encode(given)
    return await _change(write, lambda old: msgspec.json.decode(encoded))


async def patch(write: Write) -> Answer:
    """Answer a PATCH of any kind."""
    kind = write.request.content_type.partition(";")[0].strip()
    if kind == "application/apply-patch+yaml":
        return await _apply(write)
    body = write.request.decode()
    make: dict[str, Callable[[Object], Object]] = {
        "application/merge-patch+json": lambda old: patches.merge(old, body),
        "application/json-patch+json": lambda old: patches.json_patch(old, body),
        "application/strategic-merge-patch+json": lambda old: patches.strategic(old, body),
    }
    if kind not in make or (write.served.is_custom and kind == "application/strategic-merge-patch+json"):
        raise unsupported_media_type(kind, _PATCH_TYPES)
    if kind != "application/json-patch+json" and not isinstance(body, dict):
        raise bad_request("error decoding patch: a merge patch is an object")
    return await _change(write, make[kind])


async def _apply(write: Write) -> Answer:
    if not write.request.query.get("fieldManager"):
        detail = "is required for apply patch"
        raise invalid(
            "meta.k8s.io", "PatchOptions", "", [FieldError(CauseType.REQUIRED, "fieldManager", detail=detail)]
        )
    wanted = _checked(write.request.decode(), write)
    node = write.served.schema.node if write.served.schema else None
    if write.state.get(write.served, write.key) is None and not write.target.subresource:
        wanted["metadata"]["name"] = write.target.name
        return await create_object(write, wanted)
    return await _change(write, lambda old: apply(old, wanted, node))


async def _change(write: Write, make: Callable[[Object], Object]) -> Answer:
    """Make a new object of the stored one and commit it; look again when the stored one moved meanwhile."""
    while True:
        record = write.state.get(write.served, write.key)
        if record is None:
            raise not_found(*write.subject)
        answer = await _try_change(write, make, record)
        if answer is not None:
            return answer


async def _try_change(write: Write, make: Callable[[Object], Object], record: Record) -> Answer | None:
    served, subresource = write.served, write.target.subresource
    old = record.object
    content = _checked(make(record.object), write)
    _check_preconditions(write, content, old)
    warnings = write.clean(content)
    keep_server_fields(content, old)
    content = strategy.prepare_update(served, content, old, subresource)
    content["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    write.judge(content, old)
    if served.is_custom:
        warnings += finalizer_warnings(content["metadata"], old["metadata"])
    if is_same(content, old):
        return Answer(record.raw, warnings=tuple(warnings))
    warnings += await write.admit("UPDATE", content, old, name=write.target.name)
    if write.state.get(served, write.key) is not record:
        return None
    if write.request.is_dry_run:
        return Answer.of(content, warnings=tuple(warnings))
    stored = finish_if_released(write.state, served, write.key, content)
    return Answer(stored.raw, warnings=tuple(warnings))


def _check_preconditions(write: Write, content: Object, old: Object) -> None:
    given, stored = content["metadata"], old["metadata"]
    if given.get("name") not in (None, "", stored["name"]):
        raise bad_request(
            f"the name of the object ({given['name']}) does not match the name on the URL ({stored['name']})"
        )
    if given.get("uid") not in (None, "", stored["uid"]):
        why = f"Precondition failed: UID in precondition: {given['uid']}, UID in object meta: {stored['uid']}"
        raise conflict(*write.subject, why)
    version = (given.get("resourceVersion") or "").lstrip("0")
    if not version and write.served.is_custom:
        detail = "must be specified for an update"
        fault = FieldError(CauseType.INVALID, "metadata.resourceVersion", 0, detail)
        raise invalid(*write.subject, [fault])
    if version not in ("", stored["resourceVersion"]):
        raise conflict(*write.subject, MODIFIED)
