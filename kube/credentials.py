"""Who this process is to the API server, and as whom one call is made.

Tokens are re-read where they live: a service account's file is replaced about once an hour, and a process outlives many of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kube.errors import BadRequest, Misconfigured


class Credentials(Protocol):
    """The value of the Authorization header, now. ``None`` where a client certificate (or nothing) speaks."""

    def authorization(self) -> str | None:
        """Give the value; for threads, as it may have to be waited for. Raise Misconfigured, or Unavailable."""

    async def authorization_soon(self) -> str | None:
        """Give the value; for an event loop, which goes on meanwhile."""
        return self.authorization()

    def reload(self, refused: str | None) -> None:
        """Forget what is cached, if it is what the server has answered 401 to."""


@dataclass(frozen=True)
class Fixed(Credentials):
    """One value for the life of the process."""

    value: str | None = field(default=None, repr=False)

    def authorization(self) -> str | None:
        return self.value

    def reload(self, refused: str | None) -> None:
        """Nothing to reload."""


class TokenFile(Credentials):
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

    def reload(self, refused: str | None) -> None:
        with self._lock:
            self._seen = None


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
