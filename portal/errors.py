"""What a failure means to a person: one table from a reason to a sentence and an HTTP status.

The wording of fit refusals is :mod:`gpu.sentences`'; here they get their status. Nothing the API server wrote reaches a person
as it is, but for the messages of a schema's rules, which are written for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from gpu.fit import Reason, Refusal
from gpu.sentences import refusals_from_causes, sentence
from kube import errors as kube
from portal.field_words import field_words, unknown_fields

RETRY_SECONDS: Final = 5


@dataclass(frozen=True)
class FieldCause:
    """What is wrong with one field. ``field`` is a path such as ``spec.tolerations[1]``, or "" for the whole."""

    field: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A failure, ready to be shown on a page or sent as problem+json."""

    status: int
    title: str
    detail: str
    reason: str = ""
    refusals: tuple[Refusal, ...] = ()
    causes: tuple[FieldCause, ...] = ()
    retry_after_seconds: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the body of ``application/problem+json``."""
        body: dict[str, Any] = {
            "type": f"urn:gpu-portal:problem:{self.reason or HTTPStatus(self.status).name.lower().replace('_', '-')}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.refusals:
            body["reasons"] = [
                {**refusal.numbers, "reason": refusal.reason.value, "message": sentence(refusal)}
                for refusal in self.refusals
            ]
        if self.causes:
            body["causes"] = [{"field": cause.field, "message": cause.message} for cause in self.causes]
        return body


@dataclass(frozen=True)
class _Entry:
    status: HTTPStatus
    title: str
    detail: str
    may_retry: bool = False


_TABLE: Final[dict[type[kube.KubeError], _Entry]] = {
    kube.Unavailable: _Entry(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The cluster does not answer",
        "Nothing is lost: what you entered is kept. Try again in a few seconds.",
        may_retry=True,
    ),
    kube.Unauthorized: _Entry(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The cluster does not accept this portal's credentials",
        "An operator has to renew them. What you entered is kept.",
        may_retry=True,
    ),
    kube.Forbidden: _Entry(
        HTTPStatus.FORBIDDEN,
        "Not allowed",
        "You have no right to do this here. Ask an admin of the tenant for it.",
    ),
    kube.NotFound: _Entry(HTTPStatus.NOT_FOUND, "Not found", "It does not exist, or not any more."),
    kube.Conflict: _Entry(
        HTTPStatus.CONFLICT,
        "Somebody else changed it meanwhile",
        "Look at what it is now, then make your change again.",
    ),
    kube.AlreadyExists: _Entry(HTTPStatus.CONFLICT, "The name is taken", "Choose another name."),
    kube.Denied: _Entry(HTTPStatus.CONFLICT, "Refused", "The cluster refused this."),
    kube.Gone: _Entry(
        HTTPStatus.SERVICE_UNAVAILABLE, "The list changed while it was read", "Try again.", may_retry=True
    ),
    kube.Invalid: _Entry(
        HTTPStatus.UNPROCESSABLE_ENTITY, "Some fields are not right", "Nothing was changed."
    ),
    kube.BadRequest: _Entry(
        HTTPStatus.BAD_REQUEST, "The request makes no sense", "The cluster cannot read it."
    ),
    kube.Unreadable: _Entry(
        HTTPStatus.BAD_GATEWAY, "The cluster's answer makes no sense", "An operator has to look into it."
    ),
}
_OTHER: Final = _Entry(
    HTTPStatus.BAD_GATEWAY,
    "The cluster failed",
    "It gave an answer this portal does not expect. Try again later.",
)
_REFUSED_TITLE: Final = "This order does not fit"
_DENIED_PREFIX: Final = re.compile(r'^admission webhook "[^"]*" denied the request: ')
_WEBHOOK_DOWN: Final = "failed calling webhook"


def refused(refusals: Iterable[Refusal], *, retry_after_seconds: int | None = None) -> Problem:
    """Word an order that was refused, with every reason."""
    refusals = tuple(refusals)
    if retry_after_seconds is None and any(refusal.reason is Reason.CAPACITY_UNKNOWN for refusal in refusals):
        retry_after_seconds = RETRY_SECONDS
    return Problem(
        status=HTTPStatus.CONFLICT,
        title=_REFUSED_TITLE,
        detail=" ".join(sentence(refusal) for refusal in refusals),
        reason=refusals[0].reason.value if refusals else "",
        refusals=refusals,
        retry_after_seconds=retry_after_seconds,
    )


def from_kube_error(error: kube.KubeError) -> Problem:
    """Say what went wrong between this portal and the cluster."""
    if isinstance(error, kube.Denied):
        refusals = refusals_from_causes((c.reason, c.field, c.message) for c in error.causes)
        if refusals:
            return refused(refusals, retry_after_seconds=error.retry_after_seconds)
    if _WEBHOOK_DOWN in error.message:
        # The one that decides is away: nobody knows what is free, and nothing was stored.
        return refused([Refusal(reason=Reason.CAPACITY_UNKNOWN, numbers={})])

    entry = next((entry for kind, entry in _TABLE.items() if isinstance(error, kind)), _OTHER)
    return Problem(
        status=entry.status,
        title=entry.title,
        detail=_detail(error, entry),
        reason=error.reason or type(error).__name__,
        causes=_causes(error),
        retry_after_seconds=(error.retry_after_seconds or RETRY_SECONDS) if entry.may_retry else None,
    )


def _detail(error: kube.KubeError, entry: _Entry) -> str:
    if isinstance(error, kube.Denied):
        return _DENIED_PREFIX.sub("", error.message) or entry.detail
    if isinstance(error, kube.Forbidden) and "exceeded quota" in error.message:
        return "The tenant's quota of Kubernetes objects is used up. Ask an admin of the tenant to raise it."
    return entry.detail


def _causes(error: kube.KubeError) -> tuple[FieldCause, ...]:
    """Give the fields at fault. Of a body that cannot be read, the server's sentence is the only help there is."""
    if isinstance(error, kube.Invalid):
        return tuple(
            FieldCause(*worded) for worded in field_words((c.field, c.message) for c in error.causes)
        )
    if isinstance(error, kube.BadRequest) and error.message:
        unknown = unknown_fields(error.message)
        return tuple(FieldCause(*worded) for worded in unknown) or (FieldCause("", error.message),)
    return ()
