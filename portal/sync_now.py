"""The button that asks for a full sync."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST
from kombu.exceptions import OperationalError

from portal import answers, audit
from portal.access import hoster_required
from portal.errors import RETRY_SECONDS, Problem
from portal.http import PortalRequest
from portal.tasks import sync_everything
from portal.way_back import page_of_ours

_QUEUE_DOWN = Problem(
    status=503,
    title="The queue does not answer",
    detail="Syncing starts by itself as soon as it is back. Orders are not affected.",
    reason="QueueDown",
    retry_after_seconds=RETRY_SECONDS,
)


@require_POST
@hoster_required
def sync_now(request: PortalRequest) -> HttpResponse:
    """Queue a full sync of every kind."""
    try:
        sync_everything.delay()
    except OperationalError:
        return answers.answer(request, _QUEUE_DOWN)
    audit.record("sync now", username=request.access.username)
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204)
    messages.success(request, "A full sync has started.")
    return redirect(page_of_ours(request, request.headers.get("Referer", "")) or "/")
