"""A browser without a window: cookies, the login form, and the event stream, over real HTTP."""

from __future__ import annotations

import http.client
import re
import urllib.parse
from collections.abc import Mapping
from http.cookies import SimpleCookie
from types import TracebackType
from urllib.parse import urlsplit


class Browser:
    """Keeps cookies between requests."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc
        self.url = url
        self.cookies: dict[str, str] = {}

    def get(
        self, path: str, headers: Mapping[str, str] | None = None
    ) -> tuple[int, http.client.HTTPMessage, str]:
        return self._send("GET", path, None, headers)

    def post(self, path: str, fields: Mapping[str, str]) -> tuple[int, http.client.HTTPMessage, str]:
        token = {"csrfmiddlewaretoken": self.cookies.get("csrftoken", "")}
        return self._send("POST", path, urllib.parse.urlencode({**token, **fields}), {"Origin": self.url})

    def sign_in(self, username: str, password: str = "demo") -> None:  # noqa: S107  # the demo's
        self.get("/login/")
        status, _, text = self.post("/login/", {"username": username, "password": password})
        assert status == 302, re.sub(r"<[^>]+>", " ", text)

    def stream(self, path: str = "/live/") -> Stream:
        """Open the event stream, as it is answered."""
        connection = http.client.HTTPConnection(self._host, timeout=20)
        connection.request("GET", path, headers=self._headers({"Accept": "text/event-stream"}))
        return Stream(connection, connection.getresponse())

    def _send(
        self, method: str, path: str, body: str | None, headers: Mapping[str, str] | None
    ) -> tuple[int, http.client.HTTPMessage, str]:
        connection = http.client.HTTPConnection(self._host, timeout=20)
        sent = self._headers(headers)
        if body is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        for header in response.headers.get_all("Set-Cookie") or []:
            for name, morsel in SimpleCookie(header).items():
                self.cookies[name] = morsel.value
        answer = (response.status, response.headers, response.read().decode())
        connection.close()
        return answer

    def _headers(self, headers: Mapping[str, str] | None) -> dict[str, str]:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {**({"Cookie": cookie} if cookie else {}), **(headers or {})}


class Stream:
    """An open event stream, read event by event."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self.status = response.status
        self.headers = response.headers
        self._response = response

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._response.close()
        self._connection.close()

    def event(self) -> str | None:
        """Wait for the next event and give its name; None when the stream has ended. Heartbeats are passed over."""
        name = ""
        while line := self._response.readline():
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                name = text.removeprefix("event: ")
            elif not text and name:
                return name
        return None

    def until(self, event: str) -> list[str]:
        """Read until this event; give what came before it."""
        before: list[str] = []
        while (name := self.event()) != event:
            assert name is not None, f"the stream ended before {event!r}: {before}"
            before.append(name)
        return before
