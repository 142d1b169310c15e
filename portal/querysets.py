"""The words a query is made of. Pages, lists and services say what they want through these, never through raw filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models

if TYPE_CHECKING:
    from portal.access import Access
    from portal.models import (  # noqa: F401  # named in the generic arguments below
        ClaimRecord,
        ClassRecord,
        NamespaceRecord,
        NodeRecord,
        NodeStock,
        QuotaRecord,
    )


class ClassQuerySet(models.QuerySet["ClassRecord"]):
    """Offers. Everyone who is signed in may see all of them."""

    def offered(self) -> Self:
        """Those that are not being deleted, by name."""
        return self.filter(deleting_since=None).order_by("name")

    def like(self, record: ClassRecord) -> Self:
        """The other offers of the same vendor and model."""
        return (
            self.filter(vendor=record.vendor, model=record.model).exclude(name=record.name).order_by("name")
        )

    def with_room_for(self, count: int) -> Self:
        """Those with a node that has this many units free, as far as is known."""
        return self.filter(max_free_per_node__gte=count)


class ClaimQuerySet(models.QuerySet["ClaimRecord"]):
    """Orders and holds."""

    def visible_to(self, access: Access) -> Self:
        if access.is_hoster:
            return self
        return self.filter(namespace__in=sorted(access.rights))

    def in_tenant(self, namespace: str) -> Self:
        return self.filter(namespace=namespace)

    def of_class(self, class_name: str) -> Self:
        return self.filter(class_name=class_name)

    def of_set(self, namespace: str, set_name: str) -> Self:
        return self.filter(namespace=namespace, set_name=set_name)

    def on_node(self, node_name: str) -> Self:
        return self.filter(node_name=node_name)

    def waiting(self) -> Self:
        return self.filter(phase="Waiting")

    def alive(self) -> Self:
        """Those that nobody has released."""
        return self.filter(deleting_since=None)

    def in_order(self) -> Self:
        """The total order of lists and keyset pages."""
        return self.order_by("namespace", "name")

    def after(self, namespace: str, name: str) -> Self:
        """What comes later in :meth:`in_order`."""
        return self.filter(models.Q(namespace__gt=namespace) | models.Q(namespace=namespace, name__gt=name))


class NodeQuerySet(models.QuerySet["NodeRecord"]):
    """Nodes. For the hoster only: a tenant never sees a node."""

    def usable(self) -> Self:
        return self.filter(ready=True, cordoned=False, deleting_since=None)


class NodeStockQuerySet(models.QuerySet["NodeStock"]):
    def on_node(self, node_name: str) -> Self:
        return self.filter(node=node_name).order_by("resource")

    def of_resource(self, resource: str) -> Self:
        return self.filter(resource=resource).order_by("node")


class QuotaQuerySet(models.QuerySet["QuotaRecord"]):
    def visible_to(self, access: Access) -> Self:
        if access.is_hoster:
            return self
        return self.filter(namespace__in=sorted(access.rights))


class NamespaceQuerySet(models.QuerySet["NamespaceRecord"]):
    def tenants(self) -> Self:
        return self.filter(is_tenant=True).order_by("name")

    def visible_to(self, access: Access) -> Self:
        """The tenants that this person may look at."""
        if access.is_hoster:
            return self.tenants()
        return self.filter(name__in=sorted(access.rights)).order_by("name")
