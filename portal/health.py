"""Is this process alive, and is everything there that the portal needs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import redis
import structlog
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from kube import kinds
from kube.errors import KubeError
from portal import nudges
from portal.cluster import gateway
from portal.models import RECORDS, FeedState, Pulse

_log = structlog.get_logger(__name__)


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer as long as this process runs. It needs nothing else."""
    return HttpResponse("ok", content_type="text/plain")


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 when everything is there, the first sync included; else 503, naming what is down."""
    down = [name for name, is_up in _CHECKS.items() if not is_up()]
    return JsonResponse(
        {"status": "down" if down else "ready", "down": down},
        status=503 if down else 200,
        headers={"Cache-Control": "no-store"},
    )


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error as error:
        _log.warning("the database does not answer", error=str(error))
        return False
    return True


def _redis() -> bool:
    try:
        nudges.connection().ping()
    except redis.RedisError as error:
        _log.warning("Redis does not answer", error=str(error))
        return False
    return True


def _cluster() -> bool:
    try:
        gateway().list(kinds.GPU_CLASSES, limit=1)
    except (KubeError, OSError) as error:
        _log.warning("the cluster does not answer", error=str(error))
        return False
    return True


def _first_sync() -> bool:
    try:
        return FeedState.objects.filter(kind__in=RECORDS, synced_at__isnull=False).count() == len(RECORDS)
    except Error:
        return False


def _process(name: str) -> Callable[[], bool]:
    def is_up() -> bool:
        since = timezone.now() - timedelta(seconds=settings.PULSE_SECONDS)
        try:
            return Pulse.objects.filter(process=name, at__gte=since).exists()
        except Error:
            return False

    return is_up


_CHECKS: Final[dict[str, Callable[[], bool]]] = {
    "database": _database,
    "redis": _redis,
    "cluster": _cluster,
    "first sync": _first_sync,
    "mirror": _process("mirror"),
    "worker": _process("worker"),
}
