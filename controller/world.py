"""What the API server says there is: watched objects, kept by name and fed to the ledger as they come.

The controller's own writes are fed in as soon as they are answered, so a decision never waits for its own echo. The echo, and
anything else older than what is known, is then ignored.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final

import structlog

from controller.slim import slim, slim_gpu_node, slim_node
from gpu.corekinds import Namespace, Node, ObjectMeta, Pod, ResourceQuota
from gpu.ledger import Ledger
from gpu.resources import GPUClaim, GPUClass, GPUNode
from kube.aio import AsyncGateway
from kube.backoff import Backoff
from kube.kinds import (
    GPU_CLAIMS,
    GPU_CLASSES,
    GPU_NODES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_QUOTAS,
    AnyKind,
)
from kube.watching import Event, EventType, watch

log = structlog.get_logger(__name__)

Key = tuple[str, str]
"""Namespace and name; the namespace is "" for cluster-scoped kinds."""

WATCHED: Final[tuple[AnyKind, ...]] = (
    NAMESPACES,
    RESOURCE_QUOTAS,
    NODES,
    GPU_NODES,
    GPU_CLASSES,
    GPU_CLAIMS,
    PODS,
)

PACE: Final = (50.0, 10.0)
CLAIMS_PACE: Final = (15.0, 5.0)
"""Seconds a stream is kept, and seconds of grace: one that died without a word is noticed within the sum. For claims that must be
before the reservations of the orders it hid run out."""
LONGEST_PAUSE_SECONDS: Final = 2.0
"""Between two attempts to list again. The controller is one client with seven watches: it need not hold back for longer."""


def key_of(metadata: ObjectMeta) -> Key:
    return metadata.namespace, metadata.name


def is_older(metadata: ObjectMeta, than: ObjectMeta) -> bool:
    """Say whether a version of an object is older than another one of the same object.

    API servers promise that resourceVersions can be compared as numbers since Kubernetes 1.35, and all before did so.
    """
    version, other = metadata.resource_version, than.resource_version
    return metadata.uid == than.uid and version.isdigit() and other.isdigit() and int(version) < int(other)


class World:
    """The watched objects, the ledger made of them, and whether the picture is complete.

    ``on_event`` is called after each event that told something new.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        stale_seconds: float,
        on_event: Callable[[AnyKind, Event[Any]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ledger = ledger
        self.claims: dict[Key, GPUClaim] = {}
        self.classes: dict[str, GPUClass] = {}
        self.nodes: dict[str, Node] = {}
        self.gpu_nodes: dict[str, GPUNode] = {}
        self.quotas: dict[Key, ResourceQuota] = {}
        self._quota_names: dict[str, set[str]] = {}
        self._sets: dict[tuple[str, str], set[Key]] = {}
        self._on_event = on_event
        self._stale_seconds = stale_seconds
        self._clock = clock
        self._listed: set[str] = set()
        self._silent_since: dict[str, float] = {}  # kinds whose watch is broken, and since when
        self._take: dict[str, Callable[[Any], bool]] = {
            NAMESPACES.plural: self._take_namespace,
            RESOURCE_QUOTAS.plural: self._take_quota,
            NODES.plural: self._take_node,
            GPU_NODES.plural: self._take_gpu_node,
            GPU_CLASSES.plural: self._take_class,
            GPU_CLAIMS.plural: self._take_claim,
            PODS.plural: self._take_pod,
        }
        self._forget: dict[str, Callable[[Key], object]] = {
            NAMESPACES.plural: lambda key: ledger.remove_namespace(key[1]),
            RESOURCE_QUOTAS.plural: self._forget_quota,
            NODES.plural: self._forget_node,
            GPU_NODES.plural: lambda key: self.gpu_nodes.pop(key[1], None),
            GPU_CLASSES.plural: self._forget_class,
            GPU_CLAIMS.plural: self._forget_claim,
            PODS.plural: lambda key: ledger.remove_pod(*key),
        }
        self._known: dict[str, Callable[[Key], Any]] = {
            RESOURCE_QUOTAS.plural: lambda key: self.quotas.get(key),
            GPU_NODES.plural: lambda key: self.gpu_nodes.get(key[1]),
            GPU_CLASSES.plural: lambda key: self.classes.get(key[1]),
            GPU_CLAIMS.plural: lambda key: self.claims.get(key),
        }

    @property
    def is_complete(self) -> bool:
        """True once every kind was listed."""
        return len(self._listed) == len(WATCHED)

    def missing(self) -> list[str]:
        """Name the kinds that were not listed yet."""
        return [kind.plural for kind in WATCHED if kind.plural not in self._listed]

    def unknown_for(self) -> int | None:
        """Seconds since the picture went stale (0: it was never complete), or None while it can be relied upon."""
        if not self.is_complete:
            return 0
        if not self._silent_since:
            return None
        silent = self._clock() - min(self._silent_since.values())
        return max(1, int(silent)) if silent > self._stale_seconds else None

    def is_silent(self, *kinds: AnyKind) -> bool:
        """Say whether the watch of one of the kinds is broken, for however short a time."""
        return any(kind.plural in self._silent_since for kind in kinds)

    def set_of(self, claim: GPUClaim) -> tuple[GPUClaim, ...]:
        """Give the claims of the claim's set, itself among them."""
        keys = self._sets.get((claim.metadata.namespace, claim.spec.set_name or ""), ())
        return tuple(self.claims[key] for key in keys) if keys else (claim,)

    def quotas_in(self, namespace: str) -> list[Key]:
        """Name the quotas of a namespace."""
        return [(namespace, name) for name in self._quota_names.get(namespace, ())]

    async def follow(self, gateway: AsyncGateway, kind: AnyKind) -> None:
        """Watch a kind for ever."""
        stream_seconds, grace_seconds = CLAIMS_PACE if kind is GPU_CLAIMS else PACE
        async with aclosing(
            watch(
                gateway,
                kind,
                stream_seconds=stream_seconds,
                grace_seconds=grace_seconds,
                backoff=Backoff(longest_seconds=LONGEST_PAUSE_SECONDS),
            )
        ) as events:
            async for event in events:
                self.see(kind, event)

    def see(self, kind: AnyKind, event: Event[Any]) -> None:
        """Take one event in."""
        match event.type:
            case EventType.LISTED:
                self._silent_since.pop(kind.plural, None)
                self._listed.add(kind.plural)
                self._on_event(kind, event)
            case EventType.DISCONNECTED:
                self._silent_since.setdefault(kind.plural, self._clock())
            case EventType.UNREADABLE:
                log.error(
                    "an object cannot be read", kind=kind.name, namespace=event.namespace, name=event.name
                )
            case EventType.DELETED:
                self._forget[kind.plural]((event.namespace, event.name))
                self._on_event(kind, event)
            case EventType.ADDED | EventType.MODIFIED:
                if self._take[kind.plural](event.object):
                    self._on_event(kind, event)

    def wrote(self, kind: AnyKind, written: Any) -> None:
        """Take in the answer to an own write, unless the object is gone or another one by now."""
        known = self._known[kind.plural](key_of(written.metadata))
        if known is not None and known.metadata.uid == written.metadata.uid:
            namespace, name = key_of(written.metadata)
            self.see(kind, Event(EventType.MODIFIED, object=written, namespace=namespace, name=name))

    def is_gone(self, kind: AnyKind, metadata: ObjectMeta) -> None:
        """Take in that the API server does not know the object any more, unless another one has its name by now."""
        namespace, name = key_of(metadata)
        known = self._known[kind.plural]((namespace, name))
        if known is not None and known.metadata.uid == metadata.uid:
            self.see(kind, Event(EventType.DELETED, namespace=namespace, name=name))

    def _take_namespace(self, namespace: Namespace) -> bool:
        self.ledger.set_namespace(namespace)
        return True

    def _take_quota(self, quota: ResourceQuota) -> bool:
        if not _keep(self.quotas, key_of(quota.metadata), quota):
            return False
        self._quota_names.setdefault(quota.metadata.namespace, set()).add(quota.metadata.name)
        self.ledger.set_quota(quota)
        return True

    def _take_node(self, node: Node) -> bool:
        self.nodes[node.metadata.name] = slim_node(node)
        self.ledger.set_node(node)
        return True

    def _take_gpu_node(self, gpu_node: GPUNode) -> bool:
        return _keep(self.gpu_nodes, gpu_node.metadata.name, slim_gpu_node(gpu_node))

    def _take_class(self, gpu_class: GPUClass) -> bool:
        if not _keep(self.classes, gpu_class.metadata.name, gpu_class):
            return False
        self.ledger.set_class(gpu_class)
        return True

    def _take_claim(self, claim: GPUClaim) -> bool:
        key = key_of(claim.metadata)
        known = self.claims.get(key)
        if not _keep(self.claims, key, slim(claim)):
            return False
        if known is not None and known.metadata.uid != claim.metadata.uid:
            self._leave_set(known)  # deleted and made again while nobody watched
            self.ledger.remove_claim(*key)
        if claim.spec.set_name:
            self._sets.setdefault((claim.metadata.namespace, claim.spec.set_name), set()).add(key)
        self.ledger.set_claim(claim)
        return True

    def _take_pod(self, pod: Pod) -> bool:
        self.ledger.set_pod(pod)
        return True

    def _forget_quota(self, key: Key) -> None:
        if self.quotas.pop(key, None) is not None:
            self._quota_names[key[0]].discard(key[1])
        self.ledger.remove_quota(*key)

    def _forget_node(self, key: Key) -> None:
        self.nodes.pop(key[1], None)
        self.ledger.remove_node(key[1])

    def _forget_class(self, key: Key) -> None:
        self.classes.pop(key[1], None)
        self.ledger.remove_class(key[1])

    def _forget_claim(self, key: Key) -> None:
        known = self.claims.pop(key, None)
        if known is not None:
            self._leave_set(known)
        self.ledger.remove_claim(*key)

    def _leave_set(self, claim: GPUClaim) -> None:
        if claim.spec.set_name:
            name = (claim.metadata.namespace, claim.spec.set_name)
            self._sets[name].discard(key_of(claim.metadata))
            if not self._sets[name]:
                del self._sets[name]


def _keep(kept: dict[Any, Any], key: Any, value: Any) -> bool:
    """Keep the object unless this version or a newer one is known already."""
    known = kept.get(key)
    if known is not None and (
        is_older(value.metadata, known.metadata)
        or value.metadata.resource_version == known.metadata.resource_version
    ):
        return False
    kept[key] = value
    return True
