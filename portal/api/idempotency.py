"""The same POST sent twice with one Idempotency-Key is done once and answered twice.

A row with a unique key is claimed before any work; whoever comes second waits for nothing: it gets the stored answer, or a 409
"still at work". A sender that died leaves its row behind; after a while another one may take it over by compare-and-swap. Answers
that say "try again" are not kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework import status

from kube.errors import KubeError
from portal.api.models import IdempotentRequest
from portal.api.problems import BadParameter, ProblemRaised, answer
from portal.errors import Problem, from_kube_error

HEADER: Final = "Idempotency-Key"
REPLAYED_HEADER: Final = "Idempotent-Replayed"
KEPT_FOR: Final = timedelta(hours=24)
TAKEN_OVER_AFTER: Final = timedelta(seconds=60)
"""Longer than any request may last, so that a living sender is never overtaken."""

_KEPT_HEADERS: Final = ("Content-Type", "ETag", "Location", "Warning")


def request_key(request: HttpRequest) -> str:
    """Give the caller's key, "" without one. Raises BadParameter for a key that cannot be one."""
    key = request.headers.get(HEADER, "")
    if len(key) > 255 or not key.isprintable():
        raise BadParameter(HEADER, "must be at most 255 printable characters")
    return key


def stable_key(request: HttpRequest, username: str) -> str:
    """Give a key to mark what this request makes, the same for every repetition; "" without an Idempotency-Key.

    It is a hash, since it is stored where other members of the tenant can read it.
    """
    key = request_key(request)
    return _digest(username, request.path, key)[:40] if key else ""


def once(
    request: HttpRequest, *, username: str, body: bytes, now: datetime, act: Callable[[], HttpResponse]
) -> HttpResponse:
    """Answer by ``act()``, or with the answer that the same request got before. Without a key: always act.

    ``act`` may raise ProblemRaised and KubeError, which are answers too. Raises the 422 problem for the same key with another request, the 409 one while the first is
    at work.
    """
    key = request_key(request)
    if not key:
        return act()
    fingerprint = _digest(request.get_full_path(), body.decode("utf-8", "surrogateescape"))
    claimed = _claim(username, f"{request.method} {request.path}", key, fingerprint, now)
    if claimed.answered_at is not None:
        return _replay(claimed)
    finished = False
    try:
        response = _answered(act)
        finished = not _says_try_again(response)
    finally:
        if not finished:
            _held(claimed).delete()
    if finished:
        _held(claimed).update(
            answered_at=timezone.now(),
            status=response.status_code,
            headers={name: response[name] for name in _KEPT_HEADERS if name in response},
            body=response.content,
        )
    return response


def forget_expired(now: datetime) -> int:
    """Delete the answers that are kept no longer; give their number."""
    deleted, _ = IdempotentRequest.objects.filter(expires_at__lt=now).delete()
    return deleted


def _claim(username: str, scope: str, key: str, fingerprint: str, now: datetime) -> IdempotentRequest:
    """Give the row: ours to work on when ``answered_at`` is None."""
    fresh = {"fingerprint": fingerprint, "claimed_at": now, "expires_at": now + KEPT_FOR}
    try:
        with transaction.atomic():
            return IdempotentRequest.objects.create(username=username, scope=scope, key=key, **fresh)
    except IntegrityError:
        row = IdempotentRequest.objects.filter(username=username, scope=scope, key=key).first()
    if row is None:
        raise _at_work()
    if row.expires_at <= now or (row.answered_at is None and row.claimed_at <= now - TAKEN_OVER_AFTER):
        return _take_over(row, fresh)
    if row.fingerprint != fingerprint:
        raise ProblemRaised(
            Problem(
                status=status.HTTP_422_UNPROCESSABLE_ENTITY,
                title="Key used for another request",
                detail=f"This {HEADER} came with another request before. Use a new key for a new request.",
            )
        )
    if row.answered_at is None:
        raise _at_work()
    return row


def _take_over(row: IdempotentRequest, fresh: dict[str, object]) -> IdempotentRequest:
    taken = _held(row).update(**fresh, answered_at=None, status=0, headers={}, body=b"")
    if not taken:
        raise _at_work()
    row.refresh_from_db()
    return row


def _held(row: IdempotentRequest) -> QuerySet[IdempotentRequest, IdempotentRequest]:
    """The row, if it is still as we know it."""
    return IdempotentRequest.objects.filter(id=row.id, claimed_at=row.claimed_at, answered_at=row.answered_at)


def _answered(act: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        return act()
    except ProblemRaised as raised:
        return answer(raised.problem)
    except KubeError as error:
        return answer(from_kube_error(error))


def _says_try_again(response: HttpResponse) -> bool:
    return response.status_code >= 500 or response.status_code in {401, 403, 429} or "Retry-After" in response


def _replay(row: IdempotentRequest) -> HttpResponse:
    response = HttpResponse(bytes(row.body), status=row.status)
    for name, value in row.headers.items():
        response[name] = value
    response[REPLAYED_HEADER] = "true"
    return response


def _at_work() -> ProblemRaised:
    return ProblemRaised(
        Problem(
            status=status.HTTP_409_CONFLICT,
            title="Still at work",
            detail="The first request with this key is not answered yet.",
            retry_after_seconds=1,
        )
    )


def _digest(*parts: str) -> str:
    text = "\0".join(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
