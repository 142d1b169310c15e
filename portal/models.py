"""The mirror of the cluster in the database, and who may sign in.

Rows are written by :mod:`portal.mirror` alone. A record holds the columns that lists and filters need, and the whole object as
the bytes the API server sent.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Final

import msgspec
from django.contrib.auth.models import AbstractUser
from django.db import models

from gpu import corekinds as core
from gpu import resources as gpu
from kube import kinds
from kube.kinds import AnyKind
from portal import querysets
from portal.bookkeeping import ClassStock, FeedState, NodeStock, Pulse, Tombstone

__all__ = [
    "RECORDS",
    "ClaimRecord",
    "ClassRecord",
    "ClassStock",
    "FeedState",
    "GPUNodeRecord",
    "NamespaceRecord",
    "NodeRecord",
    "NodeStock",
    "PodRecord",
    "Pulse",
    "QuotaRecord",
    "Record",
    "Tombstone",
    "User",
]


class User(AbstractUser):
    """A local user. The names of the user's groups are the groups of Kubernetes."""

    is_demo = models.BooleanField(default=False, help_text="Cannot sign in unless the demo is on.")

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The groups as Kubernetes knows them. :mod:`portal.login` fills this in as it loads the user of a session."""
        return tuple(self.groups.order_by("name").values_list("name", flat=True))


class Record(models.Model):
    """One object of the cluster.

    ``version`` orders states of one object (its resourceVersion as a number, 0 where the server does not use numbers).
    ``mirrored_at`` is when this state was written here, by the database's clock.
    """

    KIND: ClassVar[AnyKind]

    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=128)
    resource_version = models.CharField(max_length=64)
    version = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(null=True)
    deleting_since = models.DateTimeField(null=True)
    mirrored_at = models.DateTimeField()
    body = models.BinaryField()

    class Meta:
        abstract = True

    def _decoded(self) -> Any:  # the model depends on the kind; each record narrows it in its ``object``
        return _decoder(self.KIND).decode(bytes(self.body))


_decoders: dict[str, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: AnyKind) -> msgspec.json.Decoder[Any]:
    if kind.plural not in _decoders:
        _decoders[kind.plural] = msgspec.json.Decoder(kind.model)
    return _decoders[kind.plural]


class ClassRecord(Record):
    """One offer. ``free`` and ``max_free_per_node`` None is unknown, never 0. ``max_count`` None is no limit."""

    KIND = kinds.GPU_CLASSES

    name = models.CharField(max_length=253, primary_key=True)
    display_name = models.TextField(blank=True)
    vendor = models.CharField(max_length=63)
    model = models.CharField(max_length=63)
    mode = models.CharField(max_length=32)
    profile = models.CharField(max_length=63, blank=True)
    memory_bytes = models.BigIntegerField(null=True)
    resource_name = models.CharField(max_length=317, blank=True)
    max_count = models.BigIntegerField(null=True)
    free = models.BigIntegerField(null=True)
    max_free_per_node = models.BigIntegerField(null=True)
    is_served = models.BooleanField(null=True)

    objects = querysets.ClassQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @cached_property
    def object(self) -> gpu.GPUClass:
        decoded: gpu.GPUClass = self._decoded()
        return decoded

    @property
    def title(self) -> str:
        """What a person calls the offer."""
        return self.display_name or self.name


class ClaimRecord(Record):
    """One order and hold. ``node_name`` is for the hoster only. ``is_healthy`` None: nobody has said yet."""

    KIND = kinds.GPU_CLAIMS

    namespace = models.CharField(max_length=63)
    class_name = models.CharField(max_length=63)
    count = models.BigIntegerField()
    set_name = models.CharField(max_length=63, blank=True)
    node_name = models.CharField(max_length=253, blank=True)
    bound_at = models.DateTimeField(null=True)
    phase = models.CharField(max_length=16)
    attached_name = models.CharField(max_length=253, blank=True)
    is_healthy = models.BooleanField(null=True)
    problem = models.CharField(
        max_length=64, blank=True, help_text="The reason of the condition that is not well."
    )

    objects = querysets.ClaimQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["namespace", "name"], name="portal_claim_by_name")
        ]
        indexes: ClassVar = [
            models.Index(fields=["class_name", "namespace", "name"], name="portal_claim_by_class"),
            models.Index(fields=["node_name", "namespace", "name"], name="portal_claim_by_node"),
            models.Index(fields=["phase", "namespace", "name"], name="portal_claim_by_phase"),
            # Holds everything that totals and budgets add up, so that they never read the rows themselves.
            models.Index(
                fields=["namespace", "class_name", "count", "deleting_since"], name="portal_claim_units"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def object(self) -> gpu.GPUClaim:
        decoded: gpu.GPUClaim = self._decoded()
        return decoded


class NodeRecord(Record):
    """One node, for the hoster only."""

    KIND = kinds.NODES

    name = models.CharField(max_length=253, primary_key=True)
    ready = models.BooleanField()
    cordoned = models.BooleanField()
    taints = models.TextField(blank=True, help_text="As kubectl writes them, one a line.")
    labels = models.JSONField(default=dict)

    objects = querysets.NodeQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @cached_property
    def object(self) -> core.Node:
        decoded: core.Node = self._decoded()
        return decoded


class GPUNodeRecord(Record):
    """What one node's kubelet says it has, for the hoster only."""

    KIND = kinds.GPU_NODES

    name = models.CharField(max_length=253, primary_key=True)
    device_count = models.IntegerField()
    sick_count = models.IntegerField(help_text="Devices whose health is not well.")
    is_consistent = models.BooleanField(null=True)
    observed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name

    @cached_property
    def object(self) -> gpu.GPUNode:
        decoded: gpu.GPUNode = self._decoded()
        return decoded


class PodRecord(Record):
    """One pod that asks for devices, for the hoster only."""

    KIND = kinds.PODS

    namespace = models.CharField(max_length=63)
    node_name = models.CharField(max_length=253, blank=True)
    phase = models.CharField(max_length=16, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["namespace", "name"], name="portal_pod_by_name")
        ]
        indexes: ClassVar = [models.Index(fields=["node_name"], name="portal_pod_by_node")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def object(self) -> core.Pod:
        decoded: core.Pod = self._decoded()
        return decoded


class QuotaRecord(Record):
    """One ResourceQuota. ``hard`` is as written: which keys count as budgets is for :mod:`gpu.budgets` to say."""

    KIND = kinds.RESOURCE_QUOTAS

    namespace = models.CharField(max_length=63)
    hard = models.JSONField(default=dict)

    objects = querysets.QuotaQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["namespace", "name"], name="portal_quota_by_name")
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def object(self) -> core.ResourceQuota:
        decoded: core.ResourceQuota = self._decoded()
        return decoded


class NamespaceRecord(Record):
    """One namespace. ``ancestors`` are the tenants above it, from its labels; ``parent`` the nearest, or ""."""

    KIND = kinds.NAMESPACES

    name = models.CharField(max_length=63, primary_key=True)
    is_tenant = models.BooleanField()
    parent = models.CharField(max_length=63, blank=True)
    ancestors = models.JSONField(default=list)

    objects = querysets.NamespaceQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @cached_property
    def object(self) -> core.Namespace:
        decoded: core.Namespace = self._decoded()
        return decoded


RECORDS: Final[dict[str, type[Record]]] = {
    model.KIND.plural: model
    for model in (
        NamespaceRecord,
        ClassRecord,
        NodeRecord,
        GPUNodeRecord,
        QuotaRecord,
        ClaimRecord,
        PodRecord,
    )
}
"""The record of every mirrored kind, by the kind's plural, in the order in which a first picture is best built."""
