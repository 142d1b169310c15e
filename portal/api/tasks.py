"""What the clock asks of the API."""

from __future__ import annotations

from django.utils import timezone

from portal.api.idempotency import forget_expired
from portal.celery import task


@task()
def forget_answers() -> None:
    """Forget the answers kept under an Idempotency-Key that are kept no longer."""
    forget_expired(timezone.now())
