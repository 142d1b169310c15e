"""Every way a call to the API server fails, as types that carry data.

No error of the client library or of an HTTP library leaves :mod:`kube`; the original is chained as ``__cause__``. Bodies that
are not a Kubernetes Status are cut to 256 characters so that logs do not leak.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """One entry of Status.details.causes. ``field`` is a path such as ``spec.tolerations[1]``, or ""."""

    reason: str
    field: str
    message: str


class KubeError(Exception):
    """A call failed. ``code`` is the HTTP status (0: no answer), ``reason`` Status.reason, ``message`` for a log."""

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.causes = causes
        self.retry_after_seconds = retry_after_seconds


class Unavailable(KubeError):
    """No answer, or one that says "not now": connection refused, time-out, 429, 5xx. Trying again later may work.

    So it may when nothing was sent, because a plugin or a provider gave no credentials to send.

    After a time-out on a write it is not known whether the write happened.
    """


class AdmissionUnavailable(Unavailable):
    """The API server answers but cannot reach an admission webhook it must ask: the controller is down, not the cluster."""


class NotServed(Unavailable):
    """A 404 that names no object: the API server does not serve the path (yet), or a hop before it has never heard of it.

    It says nothing about any object. Trying again later may work.
    """


class Misconfigured(KubeError):
    """There is no usable way to reach a cluster: no kubeconfig, an unreadable one, a proxy nobody can speak to."""


class BadRequest(KubeError):
    """400: the request makes no sense to the server (strict decoding errors among others), or could not even be written."""


class Unauthorized(KubeError):
    """401: the credentials are missing, unknown or expired."""


class Forbidden(KubeError):
    """403: the user has no such right, or a quota of the API server is exceeded."""


class NotFound(KubeError):
    """404. An object is gone when reading it raises this, and no NotServed; to a write its namespace may be what is missing."""


class Conflict(KubeError):
    """409 Conflict: the object has another resourceVersion by now."""


class AlreadyExists(KubeError):
    """409 AlreadyExists."""


class Denied(KubeError):
    """An admission webhook said no. ``reason`` and ``causes`` are the webhook's own."""


class Gone(KubeError):
    """410: the resourceVersion or continue token is too old; list again."""


class Invalid(KubeError):
    """422: the object breaks its schema or a validation rule; ``causes`` name the fields."""


class Unexpected(KubeError):
    """An answer that is none of the above."""


class Unreadable(KubeError):
    """A 2xx answer whose body cannot be decoded."""
