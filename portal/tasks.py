"""What Celery does when the clock or a person asks for it.

Every task may run twice, and may be lost: the next tick makes up for it. What a task does is told elsewhere; here it is only
called.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.core.management import call_command
from django.utils import timezone

from kube.errors import Unavailable
from portal.celery import task
from portal.mirror import feeds, full_sync
from portal.models import RECORDS, Tombstone

TOMBSTONES_KEPT: Final = timedelta(minutes=10)
"""Longer than any list or answer can be on its way."""


@task()
def sync_everything() -> None:
    """Repair every kind's rows, and the stock where nobody keeps it."""
    for plural in RECORDS:
        sync.delay(plural)
    count_stock.delay()


@task(autoretry_for=(Unavailable,), max_retries=2, retry_backoff=True)
def sync(plural: str) -> None:
    """List one kind and repair its rows."""
    full_sync.sync(RECORDS[plural].KIND)


@task()
def count_stock() -> None:
    """Count the stock from the rows, unless the mirror process does."""
    full_sync.count_stock(now=timezone.now())


@task()
def pulse() -> None:
    """Show that tasks are really run."""
    feeds.pulse("worker", at=timezone.now())


@task()
def forget_tombstones() -> None:
    """Forget the objects that are gone for long."""
    Tombstone.objects.filter(gone_at__lt=timezone.now() - TOMBSTONES_KEPT).delete()


@task()
def forget_sessions() -> None:
    """Forget the sessions that have expired."""
    call_command("clearsessions")
