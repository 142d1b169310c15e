"""What every template may use."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from portal.access import NOBODY, with_access
from portal.freshness import freshness


def portal(request: HttpRequest) -> dict[str, Any]:
    """Give ``access``, ``freshness`` (read only when used) and whether this is the demo."""
    return {
        "access": SimpleLazyObject(
            lambda: with_access(request).access if hasattr(request, "user") else NOBODY
        ),
        "freshness": SimpleLazyObject(freshness),
        "demo": settings.DEMO,
    }
