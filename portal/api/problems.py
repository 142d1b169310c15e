"""Every error of the API as ``application/problem+json``.

What an error means is said in :mod:`portal.errors`; here it becomes an answer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.http import Http404, HttpResponse
from rest_framework import exceptions, status

from kube.errors import KubeError
from portal.errors import FieldCause, Problem, from_kube_error

CONTENT_TYPE: Final = "application/problem+json"

logger = logging.getLogger(__name__)

_TITLES: Final[Mapping[type[Exception], tuple[int, str]]] = {
    exceptions.ParseError: (status.HTTP_400_BAD_REQUEST, "The body cannot be read"),
    exceptions.NotAuthenticated: (status.HTTP_401_UNAUTHORIZED, "Not signed in"),
    exceptions.AuthenticationFailed: (status.HTTP_401_UNAUTHORIZED, "Sign-in failed"),
    exceptions.PermissionDenied: (status.HTTP_403_FORBIDDEN, "Not allowed"),
    exceptions.NotFound: (status.HTTP_404_NOT_FOUND, "Not found"),
    exceptions.MethodNotAllowed: (status.HTTP_405_METHOD_NOT_ALLOWED, "Method not allowed"),
    exceptions.NotAcceptable: (status.HTTP_406_NOT_ACCEPTABLE, "No such representation"),
    exceptions.UnsupportedMediaType: (status.HTTP_415_UNSUPPORTED_MEDIA_TYPE, "Unsupported media type"),
    exceptions.Throttled: (status.HTTP_429_TOO_MANY_REQUESTS, "Too many requests"),
}


class ProblemRaised(Exception):
    """The request ends with this problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.title)
        self.problem = problem


class BadParameter(ProblemRaised):
    """A query parameter cannot be used."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(
            Problem(
                status=status.HTTP_400_BAD_REQUEST,
                title="Bad query parameter",
                detail=f"{name} {message}.",
                causes=(FieldCause(field=name, message=message),),
            )
        )


class InvalidBody(ProblemRaised):
    """The body is JSON, but fields of it are wrong: one cause per field."""

    def __init__(self, causes: tuple[FieldCause, ...]) -> None:
        super().__init__(
            Problem(
                status=status.HTTP_422_UNPROCESSABLE_ENTITY,
                title="Invalid",
                detail="; ".join(f"{cause.field}: {cause.message}" for cause in causes),
                causes=causes,
            )
        )


def not_found() -> ProblemRaised:
    """What is not there and what the user may not know of look the same."""
    return ProblemRaised(
        Problem(status=status.HTTP_404_NOT_FOUND, title="Not found", detail="There is no such object.")
    )


def forbidden(detail: str) -> ProblemRaised:
    """For an object that the user may know of."""
    return ProblemRaised(Problem(status=status.HTTP_403_FORBIDDEN, title="Not allowed", detail=detail))


def answer(problem: Problem) -> HttpResponse:
    """Give the problem as a response."""
    response = HttpResponse(
        msgspec.json.encode(problem.as_json()), status=problem.status, content_type=CONTENT_TYPE
    )
    if problem.retry_after_seconds is not None:
        response["Retry-After"] = str(problem.retry_after_seconds)
    return response


def handle(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """The exception handler of the API's views. Nothing leaves them in another shape."""
    if isinstance(error, ProblemRaised):
        return answer(error.problem)
    if isinstance(error, KubeError):
        return answer(from_kube_error(error))
    if isinstance(error, Http404):
        return answer(not_found().problem)
    if isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if isinstance(error, RequestDataTooBig):
        return answer(Problem(status=413, title="The body is too large", detail="Send less in one request."))
    if isinstance(error, SuspiciousOperation):
        return answer(Problem(status=400, title="Bad request", detail="The request makes no sense."))
    if isinstance(error, exceptions.APIException):
        return _answer_framework(error)
    logger.exception("A request to the API failed", exc_info=error)
    got_request_exception.send(sender=None, request=context["request"])
    return answer(
        Problem(status=500, title="Something went wrong here", detail="The fault is ours. Try again later.")
    )


def _answer_framework(error: exceptions.APIException) -> HttpResponse:
    code, title = next(
        (entry for kind, entry in _TITLES.items() if isinstance(error, kind)),
        (error.status_code, "Bad request"),
    )
    wait = getattr(error, "wait", None)  # of Throttled
    response = answer(
        Problem(
            status=code,
            title=title,
            detail=str(error.detail),
            retry_after_seconds=None if wait is None else max(1, int(wait)),
        )
    )
    if getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = error.auth_header  # type: ignore[attr-defined]  # set by APIView.handle_exception
    return response
