"""One request over the client library's connection pool, and one answer. Knows HTTP, not Kubernetes.

Nothing is retried here except a read whose kept-alive connection turned out to be dead. Every call ends: connecting, each read and
the whole answer have their limits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import urllib3
from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject
from urllib3.util import make_headers, parse_url

from kube.calls import Call
from kube.config import ClusterConfig
from kube.statuses import error_without_answer

WHOLE_ANSWER_SECONDS: Final = 60.0
_CHUNK: Final = 1 << 16
_forks = 0
"""How many forks lie between the first process and this one. Cheaper to look at than the process's id."""


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. Header values are text as UTF-8 would have it."""

    code: int
    body: bytes
    retry_after: str | None = None
    warnings: Sequence[str] = ()


class Transport(RESTClientObject):
    """A pool of connections to one server. Belongs to the process that made it."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        timeout: tuple[float, float],
        pool_size: int,
        has_certificate: bool = True,
    ) -> None:
        configuration = Configuration(
            host=config.server, retries=False, connection_pool_maxsize=pool_size, no_proxy=""
        )
        configuration.proxy = config.proxy
        configuration.proxy_headers = _proxy_headers(config.proxy)
        configuration.tls_server_name = config.tls_server_name
        configuration.verify_ssl = config.is_verified
        super().__init__(configuration)
        if not config.is_verified:  # said once, with the route; urllib3 would say it at every request
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        # One context for all connections: urllib3 would read and parse the authorities again for each.
        context = config.tls if has_certificate else config.tls_without_certificate
        self.pool_manager.connection_pool_kw["ssl_context"] = context
        self._server = config.server
        self._timeout = urllib3.Timeout(connect=timeout[0], read=timeout[1])
        self._fork = _forks

    def send(self, call: Call, headers: Sequence[tuple[str, str]]) -> Answer:
        """Send the call; a header may come several times. Raise Unavailable when there is no answer."""
        if self._fork != _forks:
            raise RuntimeError(
                "a gateway was made before the fork: connections cannot be shared by processes"
            )
        try:
            try:
                return self._exchange(call, headers)
            except urllib3.exceptions.ProtocolError:
                if call.method != "GET":
                    raise
                return self._exchange(call, headers)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise error_without_answer(error, server=self._server) from error

    def _exchange(self, call: Call, headers: Sequence[tuple[str, str]]) -> Answer:
        fields = urllib3.HTTPHeaderDict({"Accept": "application/json", "User-Agent": "gpu-portal"})
        if call.body is not None:
            fields["Content-Type"] = call.content_type
        for name, value in headers:
            # http.client writes text as latin-1; the API server reads UTF-8. add() keeps one header per group.
            fields.add(name, value.encode().decode("latin-1"))
        response = self.pool_manager.request(
            call.method,
            self._server + call.target,
            body=call.body,
            headers=fields,
            timeout=self._timeout,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            body = self._read(response)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return Answer(
            code=response.status,
            body=body,
            retry_after=response.headers.get("Retry-After"),
            warnings=[_utf8(value) for value in response.headers.getlist("Warning")],
        )

    def _read(self, response: urllib3.BaseHTTPResponse) -> bytes:
        deadline = time.monotonic() + WHOLE_ANSWER_SECONDS
        chunks = []
        while chunk := response.read1(_CHUNK):
            chunks.append(chunk)
            if time.monotonic() > deadline:
                raise urllib3.exceptions.TimeoutError(f"the answer took more than {WHOLE_ANSWER_SECONDS:g} s")
        return b"".join(chunks)


def _proxy_headers(proxy: str | None) -> dict[str, str] | None:
    auth = parse_url(proxy).auth if proxy else None
    return dict(make_headers(proxy_basic_auth=auth)) if auth else None


def _utf8(value: str) -> str:
    return value.encode("latin-1", "replace").decode("utf-8", "replace")
