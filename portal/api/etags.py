"""ETag and If-Match from the resourceVersion of an object."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags
from rest_framework import status

from kube.errors import Conflict
from portal.api.problems import ProblemRaised
from portal.errors import Problem


def etag(resource_version: str) -> str:
    return f'"{resource_version}"'


def is_unchanged(request: HttpRequest, resource_version: str) -> bool:
    """Say whether the caller holds this version already (If-None-Match: weak comparison, as for any GET)."""
    held = parse_etags(request.headers.get("If-None-Match", ""))
    return "*" in held or etag(resource_version) in {tag.removeprefix("W/") for tag in held}


def expected_version(request: HttpRequest, current: str) -> str | None:
    """Give the resourceVersion a write must meet; None when the caller sets no condition.

    ``current`` is the version as far as is known here. The API server has the last word: turn its Conflict into
    :func:`stale`. Raises the 412 problem when no listed tag can be right.
    """
    header = request.headers.get("If-Match")
    if header is None:
        return None
    tags = parse_etags(header)
    if "*" in tags:
        return None
    strong = [tag.strip('"') for tag in tags if not tag.startswith("W/")]
    if not strong:
        raise stale()
    return current if current in strong else strong[0]


def stale(cause: Conflict | None = None) -> ProblemRaised:
    """The write was decided on an older version of the object."""
    problem = ProblemRaised(
        Problem(
            status=status.HTTP_412_PRECONDITION_FAILED,
            title="Changed meanwhile",
            detail="The object has another version by now. Get it again, look at it, and repeat the change.",
        )
    )
    problem.__cause__ = cause
    return problem


def not_modified(resource_version: str) -> HttpResponse:
    response = HttpResponse(status=status.HTTP_304_NOT_MODIFIED)
    response["ETag"] = etag(resource_version)
    return response
