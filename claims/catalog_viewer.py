"""What one person's catalog depends on beside the offers: fetched in the same few queries for any number of them."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.cards import Viewer
from catalog.models import OfferPresentation
from claims.pools import standing_of
from claims.preview import largest_orders
from portal.access import Access
from portal.models import ClassRecord, ClassStock


def viewer_of(access: Access, tenant: str, offers: Sequence[ClassRecord], *, is_known: bool) -> Viewer:
    """Collect the viewer's own units and budgets, the prices, and for the hoster the stock."""
    standing = standing_of(tenant) if tenant else None
    stock = {row.class_name: row for row in ClassStock.objects.all()} if access.is_hoster else {}
    return Viewer(
        tenant=tenant,
        can_order=bool(tenant) and access.can_order(tenant),
        is_known=is_known,
        held={name: held.units for name, held in standing.held.items()} if standing else {},
        largest=largest_orders(tenant, offers, standing.budgets) if standing else {},
        stock=stock,
        prices={price.class_name: price for price in OfferPresentation.objects.all()},
    )
