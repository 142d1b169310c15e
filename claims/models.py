"""The history of orders: what only the portal remembers."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class EventKind(models.TextChoices):
    """What happened to an order."""

    ORDERED = "ordered", "Ordered"
    REFUSED = "refused", "Refused"
    BOUND = "bound", "Held"
    ATTACHED = "attached", "VM started"
    DETACHED = "detached", "VM stopped"
    MOVED = "moved", "Moved to another node"
    WAITING = "waiting", "Waiting for a node"
    REFUSED_BY_NODE = "refused_by_node", "Refused by its node"
    RELEASED = "released", "Released"


class OrderEventQuerySet(models.QuerySet["OrderEvent"]):
    """The vocabulary of questions about history."""

    def of_claim(self, namespace: str, name: str, uid: str) -> OrderEventQuerySet:
        """The timeline of one claim, oldest first; refusals under its name belong to it."""
        return self.filter(
            models.Q(claim_uid=uid) | models.Q(claim_uid="", namespace=namespace, claim_name=name)
        ).order_by("at", "id")

    def in_namespaces(self, namespaces: list[str]) -> OrderEventQuerySet:
        return self.filter(namespace__in=namespaces)

    def like(self, words: str, kind: str) -> OrderEventQuerySet:
        """Those in which every word is found (hold, offer, person), of one kind if one is given."""
        rows = self
        for word in words.split()[:5]:
            found = models.Q(claim_name__icontains=word) | models.Q(class_name__icontains=word)
            rows = rows.filter(found | models.Q(username__icontains=word))
        return rows.filter(kind=kind) if kind in set(EventKind) else rows

    def newest_first(self) -> OrderEventQuerySet:
        return self.order_by("-at", "-id")


class OrderEvent(models.Model):
    """One thing that happened to an order.

    ``username`` is "" for what the cluster did by itself or what came in by another way than the portal. ``node_name`` is for
    hosters' eyes only. ``data`` holds what else a sentence needs: refusals as ``{"refusals": [{reason, numbers}]}``, the VM as
    ``{"vm": name}``. ``mark`` tells two events of one kind apart (the boundAt of a bind), so that one is written once by
    whoever sees it.
    """

    at = models.DateTimeField()
    kind = models.CharField(max_length=20, choices=EventKind)
    namespace = models.CharField(max_length=63)
    claim_name = models.CharField(max_length=253)
    claim_uid = models.CharField(max_length=64, blank=True)
    class_name = models.CharField(max_length=63)
    count = models.BigIntegerField()
    username = models.CharField(max_length=253, blank=True)
    node_name = models.CharField(max_length=253, blank=True)
    mark = models.CharField(max_length=253, blank=True)
    data = models.JSONField(default=dict, blank=True)

    objects = OrderEventQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["claim_uid", "kind", "mark"],
                condition=~models.Q(claim_uid=""),
                name="claims_event_once",
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["namespace", "-at", "-id"], name="claims_event_by_time"),
            models.Index(fields=["namespace", "claim_name"], name="claims_event_by_claim"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.claim_name} {self.kind}"
