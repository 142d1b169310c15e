"""The aiohttp side of the wire: one request and its answer, or one stream and its lines. Knows HTTP, not Kubernetes.

Plain calls and streams have pools of their own, so that watches, which live for ever, never keep a write waiting.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from yarl import URL

from kube.calls import Call
from kube.config import ClusterConfig
from kube.credentials import Identity
from kube.errors import Unavailable
from kube.statuses import error_from_answer, error_without_answer
from kube.transport import WHOLE_ANSWER_SECONDS, Answer

_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "gpu-portal"}
_KEEPALIVE_SECONDS: Final = 60.0

Guard = Callable[[], None]
"""Raises when a call must not be sent any more."""


@dataclass(frozen=True, slots=True)
class _Session:
    """One aiohttp session and how it does TLS."""

    http: aiohttp.ClientSession
    tls: ssl.SSLContext


@dataclass(frozen=True, slots=True)
class _Sending:
    """What the traces of one call need: its guard, and what ends it when connecting takes too long."""

    guard: Guard | None = None
    connecting: asyncio.Timeout | None = None


class Sessions:
    """The connections of a gateway and of all made from it. Users' own tokens travel without our client certificate."""

    def __init__(self, config: ClusterConfig, *, timeout: tuple[float, float], pool_size: int) -> None:
        self._config = config
        self._pool_size = pool_size
        self._timeout = aiohttp.ClientTimeout(
            total=WHOLE_ANSWER_SECONDS, sock_connect=timeout[0], sock_read=timeout[1]
        )
        self._connect_seconds = timeout[0]
        self._open: dict[str, _Session] = {}

    async def send(self, call: Call, identity: Identity, guard: Guard | None = None) -> Answer:
        """Send the call. Raise Unavailable when there is no answer. A 401 is tried again once with a newer token.

        ``guard`` is asked when everything is ready and the bytes of a call with a body are about to leave: waiting for a
        connection takes time, in which much may have changed. The call is Unavailable when it raises.
        """
        if not identity.is_own:
            return await self._exchange("foreign", call, identity, None, guard)
        credentials = self._config.credentials
        authorization = await credentials.authorization_soon()
        answer = await self._exchange("own", call, identity, authorization, guard)
        if answer.code != 401:
            return answer
        credentials.reload(authorization)
        renewed = await credentials.authorization_soon()
        if renewed == authorization:
            return answer
        return await self._exchange("own", call, identity, renewed, guard)

    async def lines(
        self, call: Call, identity: Identity, *, quiet_seconds: float
    ) -> AsyncGenerator[bytes, None]:
        """Yield whole lines of a streamed answer. Raise the answer's error, or Unavailable when the stream breaks."""
        # ``connect`` bounds what the two others do not: a proxy that never answers CONNECT. Nobody queues for a stream.
        timeout = aiohttp.ClientTimeout(total=None, connect=self._connect_seconds, sock_read=quiet_seconds)
        try:
            async with await self._open_stream(call, identity, timeout) as response:
                if response.status != 200:
                    raise error_from_answer(
                        response.status,
                        await response.read(),
                        retry_after=response.headers.get("Retry-After"),
                    )
                try:
                    async with aclosing(self._split(response.content)) as lines:
                        async for line in lines:
                            yield line
                finally:
                    _hang_up(response)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise error_without_answer(error, server=self._config.server) from error

    async def _split(self, content: aiohttp.StreamReader) -> AsyncGenerator[bytes, None]:
        """Yield whole lines, wherever the chunks are cut. aiohttp's own line reader refuses long ones."""
        rest: list[bytes] = []
        async for chunk in content.iter_any():
            *whole, tail = chunk.split(b"\n")
            for line in whole:
                rest.append(line)
                if joined := b"".join(rest):
                    yield joined
                rest.clear()
            if tail:
                rest.append(tail)
        if rest:
            raise Unavailable(f"the stream from {self._config.server} ended inside an event")

    async def _open_stream(
        self, call: Call, identity: Identity, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        if not identity.is_own:
            return await self._request(self._session("foreign streams"), call, identity, None, timeout)
        session, credentials = self._session("streams"), self._config.credentials
        authorization = await credentials.authorization_soon()
        response = await self._request(session, call, identity, authorization, timeout)
        if response.status != 401:
            return response
        credentials.reload(authorization)
        try:
            renewed = await credentials.authorization_soon()
        except BaseException:
            response.close()
            raise
        if renewed == authorization:
            return response
        response.close()
        return await self._request(session, call, identity, renewed, timeout)

    async def aclose(self) -> None:
        sessions = list(self._open.values())
        self._open.clear()
        for session in sessions:
            await session.http.close()
        if sessions:
            await asyncio.sleep(0)  # transports close in the loop's next round

    async def _exchange(
        self, pool: str, call: Call, identity: Identity, authorization: str | None, guard: Guard | None
    ) -> Answer:
        session = self._session(pool)
        try:
            async with (
                asyncio.timeout(None) as connecting,
                self._request(
                    session, call, identity, authorization, self._timeout, _Sending(guard, connecting)
                ) as response,
            ):
                body = await response.read()
                headers = response.headers
                return Answer(
                    code=response.status,
                    body=body,
                    retry_after=headers.get("Retry-After"),
                    warnings=headers.getall("Warning", ()),
                )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise error_without_answer(error, server=self._config.server) from error

    def _request(
        self,
        session: _Session,
        call: Call,
        identity: Identity,
        authorization: str | None,
        timeout: aiohttp.ClientTimeout,
        sending: _Sending = _Sending(),
    ) -> aiohttp.client._RequestContextManager:
        headers = identity.headers(authorization)
        if call.body is not None:
            headers.append(("Content-Type", call.content_type))
        return session.http.request(
            call.method,
            URL(self._config.server + call.target, encoded=True),
            data=call.body,
            headers=headers,
            ssl=session.tls,
            server_hostname=self._config.tls_server_name,
            proxy=self._config.proxy,
            timeout=timeout,
            allow_redirects=False,
            middlewares=None if call.method == "GET" else (_only_once,),
            trace_request_ctx=sending,
        )

    def _session(self, pool: str) -> _Session:
        """Give the session, made on first use because it belongs to the running loop."""
        session = self._open.get(pool)
        if session is None:
            is_foreign = pool.startswith("foreign")
            connector = aiohttp.TCPConnector(
                limit=0 if pool.endswith("streams") else self._pool_size,
                keepalive_timeout=_KEEPALIVE_SECONDS,
            )
            http = aiohttp.ClientSession(
                connector=connector,
                headers=_HEADERS,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                trace_configs=[_watching_calls(self._connect_seconds)],
            )
            tls = self._config.tls_without_certificate if is_foreign else self._config.tls
            session = self._open[pool] = _Session(http, tls)
        return session


def _watching_calls(connect_seconds: float) -> aiohttp.TraceConfig:
    """Bound the making of a connection, and ask a call's guard right before its bytes are handed to the socket.

    aiohttp's own limits of a plain call are no help against a proxy that never answers CONNECT: they leave that out, or count the
    time in the queue of the pool. A guard is asked with the first bytes of the body because the headers travel with them.
    """

    async def start(session: aiohttp.ClientSession, context: Any, sent: object) -> None:
        sending: _Sending = context.trace_request_ctx
        if sending.connecting is not None:
            sending.connecting.reschedule(asyncio.get_running_loop().time() + connect_seconds)

    async def end(session: aiohttp.ClientSession, context: Any, sent: object) -> None:
        sending: _Sending = context.trace_request_ctx
        if sending.connecting is not None and not sending.connecting.expired():
            sending.connecting.reschedule(None)

    async def ask(session: aiohttp.ClientSession, context: Any, sent: object) -> None:
        sending: _Sending = context.trace_request_ctx
        if sending.guard is not None:
            sending.guard()

    config = aiohttp.TraceConfig()
    config.on_connection_create_start.append(start)
    config.on_connection_create_end.append(end)
    config.on_request_chunk_sent.append(ask)
    return config


async def _only_once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from repeating a PUT or a DELETE by itself on a lost connection: the first may have done its work."""
    try:
        return await send(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientConnectionError(str(error)) from error


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Cut a stream off at once: saying goodbye over TLS would leave the socket open after the gateway is closed."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
