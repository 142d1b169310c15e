"""The clock by which rows and lists are older or newer: the database's, the only one that web, mirror and worker share."""

from __future__ import annotations

from datetime import datetime

from django.db import connection
from django.utils import timezone


def now() -> datetime:
    """Give the database's time. SQLite has no other clock than this machine's. Raises django.db.Error."""
    if connection.vendor == "sqlite":
        return timezone.now()
    with connection.cursor() as cursor:
        # Not CURRENT_TIMESTAMP: that stands still for a whole transaction.
        cursor.execute("SELECT clock_timestamp()")
        at: datetime = cursor.fetchone()[0]
    return at
