"""What the mirror keeps beside the records: the stock counted from them, how fresh they are, and what is gone."""

from __future__ import annotations

import secrets
from typing import ClassVar

from django.db import models

from portal import querysets


class NodeStock(models.Model):
    """What the ledger says about one resource of one node, in units. For the hoster only."""

    node = models.CharField(max_length=253)
    resource = models.CharField(max_length=317)
    capacity = models.BigIntegerField()
    allocatable = models.BigIntegerField()
    held = models.BigIntegerField()
    in_use = models.BigIntegerField()
    foreign = models.BigIntegerField()
    free = models.BigIntegerField()
    over_committed = models.BigIntegerField()

    objects = querysets.NodeStockQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["node", "resource"], name="portal_stock_by_node")
        ]
        indexes: ClassVar = [models.Index(fields=["resource", "node"], name="portal_stock_by_resource")]

    def __str__(self) -> str:
        return f"{self.node} {self.resource}"


class ClassStock(models.Model):
    """What the ledger says about one class over all its nodes, in units. For the hoster only."""

    class_name = models.CharField(max_length=253, primary_key=True)
    units = models.BigIntegerField()
    out_of_service = models.BigIntegerField()
    held = models.BigIntegerField()
    in_use = models.BigIntegerField()
    foreign = models.BigIntegerField()
    free = models.BigIntegerField()

    def __str__(self) -> str:
        return self.class_name


def new_revision() -> str:
    """Make a mark that never repeats, not even when the transaction that made it was rolled back."""
    return secrets.token_hex(8)


class FeedState(models.Model):
    """How fresh the rows of one kind are.

    ``synced_at``: the rows were right then. ``live_since``: the watch has run without a break since; None while it does not.
    ``revision`` changes, of kinds that web processes remember, with every change of what they remember.
    """

    kind = models.CharField(max_length=63, primary_key=True)
    synced_at = models.DateTimeField(null=True)
    live_since = models.DateTimeField(null=True)
    revision = models.CharField(max_length=32, default=new_revision)

    def __str__(self) -> str:
        return self.kind


class Pulse(models.Model):
    """The last sign of life of one process of the portal: ``mirror`` or ``worker``."""

    process = models.CharField(max_length=32, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.process


class Tombstone(models.Model):
    """The uid of an object that is gone for good, so that an answer on its way cannot bring its row back."""

    uid = models.CharField(max_length=128, primary_key=True)
    gone_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.uid
