"""What placing an order and releasing a hold are: the one path for pages and REST API alike."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import replace
from typing import Any

from django.utils import timezone

from claims import history
from claims.orders import ORDER_KEY_ANNOTATION, NameTaken, OrderRefused, OrderSpec, Placed, Released
from gpu.fit import Refusal
from gpu.resources import API_VERSION, GPUClaim
from kube.errors import AlreadyExists, Conflict, Denied, NotFound, Unavailable
from kube.gateway import Gateway, Read
from kube.kinds import GPU_CLAIMS
from portal import audit, mirror
from portal.access import Access
from portal.errors import from_kube_error
from portal.models import ClaimRecord


def place_order(*, access: Access, gateway: Gateway, spec: OrderSpec, dry_run: bool = False) -> Placed:
    """Place the order as the user, once, however often it is sent, and give the claim.

    Raises OrderRefused with all reasons, NameTaken, or a kube.errors.KubeError: after Unavailable send the same spec again.
    """
    spec = spec if spec.name else replace(spec, name=name_for(spec))
    # Asked again, admission would charge the same order twice for a moment; mostly the mirror knows better.
    if ClaimRecord.objects.filter(namespace=spec.namespace, name=spec.name).exists():
        earlier = _placed_before(gateway, spec)
        if earlier is not None:
            return _remember(access, earlier, dry_run=dry_run)
    try:
        read = gateway.create(GPU_CLAIMS, _body_of(spec), namespace=spec.namespace, dry_run=dry_run)
    except AlreadyExists as error:
        earlier = _placed_before(gateway, spec)
        if earlier is None:
            raise NameTaken(spec.namespace, spec.name) from error
        return _remember(access, earlier, dry_run=dry_run)
    except (Denied, Unavailable) as error:
        # Its first sending may have taken the very units that are missing now.
        earlier = _placed_before(gateway, spec) if isinstance(error, Denied) else None
        if earlier is not None:
            return _remember(access, earlier, dry_run=dry_run)
        problem = from_kube_error(error)
        if not problem.refusals:
            raise
        if not dry_run:
            _remember_refusal(access, spec, problem.refusals)
        raise OrderRefused(problem.refusals, retry_after_seconds=problem.retry_after_seconds) from error
    return _remember(
        access, Placed(claim=read.object, raw=read.raw, is_new=True, warnings=read.warnings), dry_run=dry_run
    )


def release(
    *,
    access: Access,
    gateway: Gateway,
    namespace: str,
    name: str,
    uid: str | None,
    resource_version: str | None = None,
    dry_run: bool = False,
) -> Released:
    """Release the claim that the user was looking at (``uid``). Releasing twice, or what is gone, is fine.

    A claim of the same name that was ordered since is left alone. Raises Conflict when ``resource_version`` is given and is not the
    claim's any more, and other kube.errors.KubeError.
    """
    claim = _claim_to_release(gateway, namespace, name, uid)
    if claim is None:
        return Released(claim=None)
    uid = claim.metadata.uid
    try:
        left = gateway.delete(
            GPU_CLAIMS, name, namespace=namespace, uid=uid, resource_version=resource_version, dry_run=dry_run
        )
    except NotFound:
        mirror.delete(GPU_CLAIMS, namespace, name, uid=uid)
        return Released(claim=None)
    except Conflict:
        if resource_version is not None:
            raise
        return Released(claim=None)
    if dry_run:
        return Released(claim=claim)
    history.record_released(claim, username=access.username, now=timezone.now())
    audit.record("release", username=access.username, namespace=namespace, claim=name)
    if left is None or not left.object.is_releasing:
        mirror.delete(GPU_CLAIMS, namespace, name, uid=uid)
        return Released(claim=None)
    mirror.apply(GPU_CLAIMS, left.raw)
    return Released(claim=left.object)


def name_for(spec: OrderSpec) -> str:
    """Make a name for an order without one: the same for the same key, so that a retry meets its first sending."""
    if spec.order_key:
        suffix = hashlib.sha256(f"{spec.namespace}/{spec.order_key}".encode()).hexdigest()[:10]
    else:
        suffix = secrets.token_hex(5)
    return f"{spec.class_name[:52].rstrip('-')}-{suffix}"


def _body_of(spec: OrderSpec) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": spec.name, "namespace": spec.namespace}
    annotations = {**spec.annotations, **({ORDER_KEY_ANNOTATION: spec.order_key} if spec.order_key else {})}
    if annotations:
        metadata["annotations"] = annotations
    if spec.labels:
        metadata["labels"] = dict(spec.labels)
    wanted: dict[str, Any] = {"className": spec.class_name, "count": spec.count}
    if spec.set_name:
        wanted["setName"] = spec.set_name
    return {"apiVersion": API_VERSION, "kind": GPU_CLAIMS.name, "metadata": metadata, "spec": wanted}


def _placed_before(gateway: Gateway, spec: OrderSpec) -> Placed | None:
    """Give the claim that this very order has made, if it has."""
    if not spec.order_key:
        return None
    try:
        read = gateway.get(GPU_CLAIMS, spec.name, namespace=spec.namespace)
    except NotFound:
        return None
    claim = read.object
    is_same = (
        claim.metadata.annotations.get(ORDER_KEY_ANNOTATION) == spec.order_key
        and claim.spec.class_name == spec.class_name
        and claim.spec.count == spec.count
        and (claim.spec.set_name or None) == (spec.set_name or None)
    )
    return Placed(claim=claim, raw=read.raw, is_new=False) if is_same else None


def _remember(access: Access, placed: Placed, *, dry_run: bool) -> Placed:
    if not dry_run:
        # The person first: what the mirror sees by itself has no name to it.
        history.record_ordered(placed.claim, username=access.username, now=timezone.now())
        mirror.apply(GPU_CLAIMS, placed.raw)
        audit.record(
            "order",
            username=access.username,
            outcome="placed" if placed.is_new else "placed before",
            namespace=placed.claim.metadata.namespace,
            claim=placed.claim.metadata.name,
        )
    return placed


def _remember_refusal(access: Access, spec: OrderSpec, refusals: tuple[Refusal, ...]) -> None:
    history.record_refused(spec, refusals, username=access.username, now=timezone.now())
    audit.record(
        "order",
        username=access.username,
        outcome="refused",
        namespace=spec.namespace,
        claim=spec.name,
        reasons=[refusal.reason.value for refusal in refusals],
    )


def _claim_to_release(gateway: Gateway, namespace: str, name: str, uid: str | None) -> GPUClaim | None:
    """Give the claim as it is known, from the mirror or else from the cluster; None when it is gone or another one."""
    record = ClaimRecord.objects.filter(namespace=namespace, name=name).first()
    if record is not None and uid in (None, record.uid):
        return record.object
    try:
        read: Read[GPUClaim] = gateway.get(GPU_CLAIMS, name, namespace=namespace)
    except NotFound:
        return None
    return read.object if uid in (None, read.object.metadata.uid) else None
