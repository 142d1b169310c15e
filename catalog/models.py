"""How an offer is presented: what only the portal knows about it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class OfferPresentation(models.Model):
    """The price of an offer, shown on its card. No row: no price is shown."""

    class_name = models.CharField(max_length=63, primary_key=True)
    price_cents_per_hour = models.PositiveIntegerField()
    currency = models.CharField(max_length=3, default="EUR")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(currency__regex=r"^[A-Z]{3}$"), name="catalog_currency_is_iso"
            )
        ]

    def __str__(self) -> str:
        return f"{self.class_name}: {self.price_cents_per_hour} {self.currency}/h"
