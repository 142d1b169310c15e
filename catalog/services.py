"""What publishing, editing and withdrawing an offer are: the one path for pages and REST API alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from catalog.edits import map_patch, spec_patch
from gpu.resources import API_VERSION, GPUClass
from kube.errors import Conflict, NotFound
from kube.gateway import Gateway, Read
from kube.kinds import GPU_CLASSES
from portal import audit, mirror
from portal.access import Access
from portal.models import ClaimRecord

STATUS_RACES: Final = 8
"""How often a write is repeated because the controller wrote the status between our look and our write."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The version of an offer that a person began to edit (hidden fields of the form, from its metadata)."""

    uid: str
    generation: int


@dataclass(frozen=True, kw_only=True)
class Written:
    """The offer as the API server returned it, with its warnings, to be shown beside the success text."""

    gpu_class: GPUClass
    raw: bytes
    warnings: tuple[str, ...] = ()


class EditedMeanwhile(Exception):
    """Somebody else changed the offer's spec since it was loaded. ``current`` is what it is now."""

    def __init__(self, current: GPUClass) -> None:
        super().__init__(current.metadata.name)
        self.current = current


class HasClaims(Exception):
    """The offer cannot be withdrawn while orders hold it."""

    def __init__(self, name: str, claims: int) -> None:
        super().__init__(f"{name}: {claims}")
        self.name = name
        self.claims = claims


def create_class(
    *,
    access: Access,
    gateway: Gateway,
    name: str,
    spec: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> Written:
    """Publish an offer. ``spec`` is the Kubernetes shape; fields that are None are left out.

    Raises kube.errors.AlreadyExists, Invalid (causes name the fields, such as ``spec.tolerations[1].value``), Forbidden and others.
    """
    metadata: dict[str, Any] = {"name": name}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    body = {
        "apiVersion": API_VERSION,
        "kind": GPU_CLASSES.name,
        "metadata": metadata,
        "spec": {field: value for field, value in spec.items() if value is not None},
    }
    written = _written(gateway.create(GPU_CLASSES, body, dry_run=dry_run), dry_run=dry_run)
    _audit("publish offer", access, name, dry_run=dry_run)
    return written


def update_class(
    *,
    access: Access,
    gateway: Gateway,
    name: str,
    loaded: Loaded,
    fields: Mapping[str, Any],
    dry_run: bool = False,
) -> Written:
    """Change these fields of the spec; None removes one, what is not named stays. Untouched values keep their stored spelling.

    Changes of the status since the page was loaded do not matter. Raises EditedMeanwhile, kube.errors.NotFound, Invalid and others.
    """
    for attempt in range(STATUS_RACES):
        current = gateway.get(GPU_CLASSES, name)
        metadata = current.object.metadata
        if (metadata.uid, metadata.generation) != (loaded.uid, loaded.generation):
            raise EditedMeanwhile(current.object)
        patch = spec_patch(stored_spec(current.raw), fields)
        if not patch:
            return _written(current, dry_run=dry_run)
        try:
            return patch_class(
                access=access,
                gateway=gateway,
                name=name,
                patch={"spec": patch},
                resource_version=metadata.resource_version,
                dry_run=dry_run,
            )
        except Conflict:
            if attempt == STATUS_RACES - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def patch_class(
    *,
    access: Access,
    gateway: Gateway,
    name: str,
    patch: Mapping[str, Any],
    resource_version: str | None = None,
    dry_run: bool = False,
) -> Written:
    """Apply a merge patch. Raises Conflict when ``resource_version`` is given and is not the offer's any more."""
    if resource_version is not None:
        patch = {**patch, "metadata": {**(patch.get("metadata") or {}), "resourceVersion": resource_version}}
    written = _written(gateway.patch(GPU_CLASSES, name, patch, dry_run=dry_run), dry_run=dry_run)
    _audit("edit offer", access, name, dry_run=dry_run)
    return written


def replace_class(
    *,
    access: Access,
    gateway: Gateway,
    name: str,
    spec: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    resource_version: str | None = None,
    dry_run: bool = False,
) -> Written:
    """Make this the whole spec, and these all labels and annotations where they are given. Raises Conflict when ``resource_version`` is given and is not the offer's any more.

    Without one, changes that others make at the same moment are not overwritten either: the last one to look writes.
    """
    for attempt in range(STATUS_RACES):
        current = gateway.get(GPU_CLASSES, name)
        metadata = current.object.metadata
        stored = stored_spec(current.raw)
        patch: dict[str, Any] = {
            "spec": spec_patch(stored, {**dict.fromkeys(stored), **spec}),
            "metadata": {},
        }
        if labels is not None:
            patch["metadata"]["labels"] = map_patch(metadata.labels, labels)
        if annotations is not None:
            patch["metadata"]["annotations"] = map_patch(metadata.annotations, annotations)
        try:
            return patch_class(
                access=access,
                gateway=gateway,
                name=name,
                patch=patch,
                resource_version=resource_version or metadata.resource_version,
                dry_run=dry_run,
            )
        except Conflict:
            if resource_version is not None or attempt == STATUS_RACES - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def delete_class(
    *,
    access: Access,
    gateway: Gateway,
    name: str,
    uid: str | None = None,
    resource_version: str | None = None,
    dry_run: bool = False,
) -> None:
    """Withdraw an offer that nobody holds. Already gone is fine.

    Raises HasClaims, Conflict when it is another by now, and other kube.errors.KubeError.
    """
    claims = claims_of(name)
    if claims:
        raise HasClaims(name, claims)
    try:
        left = gateway.delete(GPU_CLASSES, name, uid=uid, resource_version=resource_version, dry_run=dry_run)
    except NotFound:
        left = None
    if dry_run:
        return
    _audit("withdraw offer", access, name, dry_run=False)
    if left is not None and left.object.metadata.deletion_timestamp is not None:
        mirror.apply(GPU_CLASSES, left.raw)
    else:
        mirror.delete(GPU_CLASSES, None, name)


def claims_of(name: str) -> int:
    """Count the orders of an offer, waiting and releasing ones included, as far as the mirror knows."""
    return ClaimRecord.objects.of_class(name).count()


def stored_spec(raw: bytes) -> dict[str, Any]:
    """Give the spec in its stored spelling, fields unknown to this version included."""
    spec: dict[str, Any] = msgspec.json.decode(raw, type=_WithSpec).spec
    return spec


class _WithSpec(msgspec.Struct):
    spec: dict[str, Any]


def _written(read: Read[GPUClass], *, dry_run: bool) -> Written:
    if not dry_run:
        mirror.apply(GPU_CLASSES, read.raw)
    return Written(gpu_class=read.object, raw=read.raw, warnings=read.warnings)


def _audit(action: str, access: Access, name: str, *, dry_run: bool) -> None:
    if not dry_run:
        audit.record(action, username=access.username, offer=name)
