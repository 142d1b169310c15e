"""Answers remembered under an Idempotency-Key."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class IdempotentRequest(models.Model):
    """One request with a key. ``answered_at`` is empty while the first sender is still at work.

    ``fingerprint`` is a hash of what was asked, so that the same key with another body is noticed.
    """

    username = models.CharField(max_length=253)
    scope = models.CharField(max_length=512)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    claimed_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(db_index=True)
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    body = models.BinaryField(default=b"")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["username", "scope", "key"], name="api_idempotency_key_once")
        ]

    def __str__(self) -> str:
        return f"{self.username} {self.scope} {self.key}"
