"""Who this process is to the API server, and as whom one call is made.

Tokens are re-read where they live: a service account's file is replaced about once an hour, and a process outlives many of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kube.errors import BadRequest, Misconfigured


class Credentials(Protocol):
    """The value of the Authorization header, now. ``reload`` forgets what is cached after the server said 401."""

    def authorization(self) -> str | None: ...

    def reload(self) -> None: ...


@dataclass(frozen=True)
class Fixed:
    """One value for the life of the process; ``None`` where a client certificate (or nothing) speaks."""

    value: str | None = field(default=None, repr=False)

    def authorization(self) -> str | None:
        return self.value

    def reload(self) -> None:
        """Nothing to reload."""


class TokenFile:
    """A bearer token in a file, read again whenever the file is another one or has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._value = ""
        self._lock = threading.Lock()

    def authorization(self) -> str:
        try:
            stat = self._path.stat()
            seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            with self._lock:
                if seen != self._seen:
                    self._value = bearer(self._path.read_text("utf-8"))
                    self._seen = seen
                return self._value
        except (OSError, UnicodeDecodeError) as error:
            raise Misconfigured(f"the token file {self._path} cannot be read: {error}") from error

    def reload(self) -> None:
        with self._lock:
            self._seen = None


class Loaded:
    """Credentials that the client library's loader keeps fresh (exec plugins, OIDC)."""

    def __init__(self, current: Callable[[], str | None], load_again: Callable[[], None]) -> None:
        self._current = current
        self._load_again = load_again
        self._lock = threading.Lock()

    def authorization(self) -> str | None:
        with self._lock:
            return self._current()

    def reload(self) -> None:
        with self._lock:
            self._load_again()


@dataclass(frozen=True)
class Identity:
    """As whom a call is made: the process itself, a user it impersonates, or the holder of a token of their own."""

    impersonation: tuple[tuple[str, str], ...] = ()
    token: str | None = field(default=None, repr=False)

    @property
    def is_own(self) -> bool:
        """Whether the process's own credentials go along."""
        return self.token is None

    def headers(self, authorization: str | None) -> list[tuple[str, str]]:
        """Give the headers of one call; a name may come several times, one per group."""
        value = self.token if self.token is not None else authorization
        if value and not (
            value.isascii() and value.isprintable()
        ):  # the HTTP library would show it in its error
            raise Misconfigured("the credentials have characters that no header can carry")
        return [*([("Authorization", value)] if value else []), *self.impersonation]


def impersonate(username: str, groups: Iterable[str]) -> Identity:
    """Act as the user. Raise BadRequest for a name that would not arrive as written.

    An empty name would make the call as this process itself, and HTTP strips blanks: " admin" would become "admin".
    """
    named = [("Impersonate-User", username), *(("Impersonate-Group", group) for group in groups)]
    for header, value in named:
        if not value or value != value.strip() or not value.isprintable():
            raise BadRequest(f"{header} cannot be {value!r}")
    return Identity(impersonation=tuple(named))


def holder_of(token: str) -> Identity:
    """Act as the holder of the token; nothing of this process's own credentials goes along."""
    return Identity(token=bearer(token))


def bearer(token: str) -> str:
    """Give the Authorization value. Raise Misconfigured for a token that is empty or cannot be one; never show it."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise Misconfigured("the token is empty or has characters that no token has")
    return f"Bearer {token}"
