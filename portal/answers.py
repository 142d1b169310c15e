"""A failure as an answer: problem+json for the API, one line for a fragment, a page for everything else."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from portal.errors import Problem
from portal.http import is_api

_NUL = Problem(
    status=400,
    title="A character that cannot be used",
    detail="What you sent holds the NUL character. Remove it and send again.",
    reason="NulCharacter",
)
_TOO_LARGE = Problem(status=413, title="Too large", detail="Send less in one request.", reason="TooLarge")
_NOT_SIGNED_IN = Problem(
    status=401, title="Not signed in", detail="Sign in, or send credentials.", reason="NotSignedIn"
)
_BAD_REQUEST = Problem(status=400, title="Bad request", detail="The request makes no sense to this portal.")
_FORBIDDEN = Problem(
    status=403, title="Not allowed", detail="You may look at this, but you have no right to do that here."
)
_NOT_FOUND = Problem(
    status=404, title="Not found", detail="There is no such page, or it is not yours to see."
)
_SERVER_ERROR = Problem(
    status=500,
    title="Something went wrong here",
    detail="The fault is ours, and it is in our log. Try again later.",
)
_SESSION_CHANGED = Problem(
    status=403,
    title="Your session changed",
    detail="You signed in or out in another tab. What you entered is kept: reload the page, then send it again.",
    reason="SessionChanged",
)


def answer(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Give the problem in the shape that whoever asks can show."""
    if is_api(request):
        response = HttpResponse(
            msgspec.json.encode(problem.as_json()),
            status=problem.status,
            content_type="application/problem+json",
        )
    elif request.headers.get("HX-Request"):
        response = HttpResponse(
            f"{problem.title}. {problem.detail}",
            status=problem.status,
            content_type="text/plain; charset=utf-8",
        )
    else:
        response = render(request, "problem.html", {"problem": problem}, status=problem.status)
    if problem.retry_after_seconds is not None:
        response.headers["Retry-After"] = str(problem.retry_after_seconds)
    response.headers["Cache-Control"] = "no-store, private"
    return response


def nul_refused(request: HttpRequest) -> HttpResponse:
    return answer(request, _NUL)


def too_large(request: HttpRequest) -> HttpResponse:
    return answer(request, _TOO_LARGE)


def not_signed_in(request: HttpRequest) -> HttpResponse:
    return answer(request, _NOT_SIGNED_IN)


def session_changed(request: HttpRequest) -> HttpResponse:
    return answer(request, _SESSION_CHANGED)


def locked_out(request: HttpRequest, *, minutes: int) -> HttpResponse:
    return answer(
        request,
        Problem(
            status=429,
            title="Too many wrong passwords",
            detail=f"Try again in {minutes} minutes.",
            reason="LockedOut",
            retry_after_seconds=minutes * 60,
        ),
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, _BAD_REQUEST)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, _FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, _NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer when a page broke. Whatever broke it may break every other page: this one is a file and needs nothing."""
    if is_api(request) or request.headers.get("HX-Request"):
        return answer(request, _SERVER_ERROR)
    return HttpResponse(
        render_to_string("500.html"), status=500, headers={"Cache-Control": "no-store, private"}
    )
