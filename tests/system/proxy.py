"""A proxy on the loopback between the controller and its API server, that does on demand what networks and servers do to us.

It ends TLS with a certificate of its own and speaks plain HTTP semantics inside: requests are forwarded whole, watches line by line.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from kube.certificates import keep_server_files
from kube.config import ClusterConfig

HOST: Final = "127.0.0.1"
_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_PASSED_ON: Final = ("Authorization", "Content-Type", "Accept", "Accept-Encoding", "User-Agent")
_PASSED_BACK: Final = ("Content-Type", "Retry-After", "Warning")
_ODD_BODIES: Final = (
    (502, "text/html", "<html><body><h1>502 Bad Gateway</h1></body></html>"),
    (503, "text/html", "<html><title>Maintenance</title></html>"),
    (500, "text/plain", "internal error\n"),
    (429, "text/plain", "slow down\n"),
)
EXPIRED: Final = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "code": 410,
    "reason": "Expired",
    "message": "too old resource version",
}


@dataclass
class Faults:
    """What the proxy does now; conflicts only where the path ends as said. Shares are of writes, odd bodies of all requests; lost answers of writes that went through."""

    conflicts: float = 0.0
    conflicts_at: str = ""
    throttled: float = 0.0
    lost_answers: float = 0.0
    odd_bodies: float = 0.0
    answers_lost_after_seconds: float = 0.2
    are_events_doubled: bool = False
    are_watches_expired: bool = False
    is_cut_off: bool = False


@dataclass
class FaultProxy:
    """``kubeconfig`` leads through it. ``counts`` says how often each fault was done to somebody."""

    kubeconfig: Path
    faults: Faults = field(default_factory=Faults)
    counts: Counter[str] = field(default_factory=Counter)
    watches: int = 0
    _flows: asyncio.Event = field(default_factory=asyncio.Event)
    _breaks: set[asyncio.Event] = field(default_factory=set)

    def heal(self) -> None:
        """Do nothing to anybody any more."""
        self.faults = Faults()
        self._flows.set()

    def stall(self) -> None:
        """Let every watch fall silent, those to come too. What they would say comes when it is healed."""
        self._flows.clear()
        self.counts["stalled watches"] += self.watches

    def expire_watches(self) -> None:
        """Tell every watch that its version is too old, and whoever asks for a new one too."""
        self.faults.are_watches_expired = True
        self._break_watches()

    def cut_off(self) -> None:
        """Break every connection and take no new one up."""
        self.faults.is_cut_off = True
        self._break_watches()

    def _break_watches(self) -> None:
        for event in list(self._breaks):
            event.set()


@dataclass
class _Handler:
    """Serves the requests of one proxy."""

    proxy: FaultProxy
    upstream: ClusterConfig
    session: aiohttp.ClientSession
    random: Random

    async def handle(self, request: web.Request) -> web.StreamResponse:
        faults, counts = self.proxy.faults, self.proxy.counts
        if faults.is_cut_off:
            counts["cut off"] += 1
            return _hang_up(request)
        if self.random.random() < faults.odd_bodies:
            counts["odd bodies"] += 1
            code, kind, text = self.random.choice(_ODD_BODIES)
            return web.Response(status=code, text=text, content_type=kind)
        if "watch" in request.query:
            return await self._watch(request)
        is_write = request.method in _WRITES
        if (
            is_write
            and request.path.endswith(faults.conflicts_at)
            and self.random.random() < faults.conflicts
        ):
            counts["conflicts"] += 1
            return _status(409, "Conflict", "the object has been modified")
        if is_write and self.random.random() < faults.throttled:
            counts["throttled"] += 1
            return _status(429, "TooManyRequests", "slow down", {"Retry-After": "1"})
        answer = await self._forward(request)
        if is_write and self.random.random() < faults.lost_answers:
            counts["lost answers"] += 1
            await asyncio.sleep(faults.answers_lost_after_seconds)
            return _hang_up(request)
        return answer

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        try:
            async with self.session.request(
                request.method,
                self._url(request),
                data=body or None,
                headers=_kept(request.headers, _PASSED_ON),
            ) as found:
                return web.Response(
                    status=found.status, body=await found.read(), headers=_kept(found.headers, _PASSED_BACK)
                )
        except (aiohttp.ClientError, OSError):
            return _hang_up(request)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        if self.proxy.faults.are_watches_expired:
            self.proxy.counts["expired watches"] += 1
            return web.json_response(EXPIRED, status=410)
        try:
            async with self.session.get(
                self._url(request), headers=_kept(request.headers, _PASSED_ON)
            ) as found:
                if found.status != 200:
                    return web.Response(status=found.status, body=await found.read())
                response = web.StreamResponse(headers=_kept(found.headers, _PASSED_BACK))
                await response.prepare(request)
                self.proxy.watches += 1
                try:
                    await self._pass_on(found, request, response)
                finally:
                    self.proxy.watches -= 1
                return response
        except (aiohttp.ClientError, OSError):
            return _hang_up(request)

    async def _pass_on(
        self, found: aiohttp.ClientResponse, request: web.Request, response: web.StreamResponse
    ) -> None:
        proxy, is_broken = self.proxy, asyncio.Event()
        proxy._breaks.add(is_broken)
        lines = _lines(found)
        breaking = asyncio.create_task(is_broken.wait())
        try:
            while True:
                reading: asyncio.Task[bytes | None] = asyncio.create_task(_next(lines))
                await asyncio.wait({reading, breaking}, return_when=asyncio.FIRST_COMPLETED)
                await proxy._flows.wait()
                if breaking.done():
                    reading.cancel()
                    await asyncio.gather(reading, return_exceptions=True)
                    if proxy.faults.is_cut_off:
                        _hang_up(request)
                        return
                    proxy.counts["expired watches"] += 1
                    error = json.dumps({"type": "ERROR", "object": EXPIRED}).encode()
                    await response.write(error + b"\n")
                    return
                line = await reading
                if line is None:
                    return
                await response.write(line + b"\n")
                if proxy.faults.are_events_doubled:
                    proxy.counts["doubled events"] += 1
                    await response.write(line + b"\n")
        finally:
            breaking.cancel()
            proxy._breaks.discard(is_broken)

    def _url(self, request: web.Request) -> URL:
        return URL(self.upstream.server + request.raw_path, encoded=True)


async def _next(lines: AsyncGenerator[bytes, None]) -> bytes | None:
    return await anext(lines, None)


async def _lines(found: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    rest = b""
    async for chunk in found.content.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line


def _kept(headers: Any, names: tuple[str, ...]) -> dict[str, str]:
    return {name: headers[name] for name in names if name in headers}


def _status(code: int, reason: str, message: str, headers: dict[str, str] | None = None) -> web.Response:
    body = {**EXPIRED, "code": code, "reason": reason, "message": message}
    return web.json_response(body, status=code, headers=headers)


def _hang_up(request: web.Request) -> web.Response:
    """Cut the connection off, as a dead server or a broken line does."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


@asynccontextmanager
async def fault_proxy(upstream: ClusterConfig, folder: Path, *, seed: int = 1) -> AsyncIterator[FaultProxy]:
    """Serve until left; at first it does nothing but forward."""
    files = keep_server_files(folder, [HOST], now=datetime.now(UTC), authority_name="GPU Portal fault proxy")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.certificate, files.key)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=3)
    async with aiohttp.ClientSession(
        timeout=timeout,
        connector=aiohttp.TCPConnector(limit=0, ssl=upstream.tls),
        auto_decompress=False,
        skip_auto_headers=["User-Agent"],
    ) as session:
        proxy = FaultProxy(folder / "kubeconfig")
        proxy.heal()
        handler = _Handler(proxy, upstream, session, Random(seed))  # noqa: S311  # faults to repeat, no secret
        runner = await _serve(handler.handle, tls)
        _write_kubeconfig(proxy.kubeconfig, runner.addresses[0][1], upstream, files.ca)
        try:
            yield proxy
        finally:
            proxy.heal()
            await runner.cleanup()


async def _serve(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]], tls: ssl.SSLContext
) -> web.AppRunner:
    app = web.Application(client_max_size=2**24)
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0, ssl_context=tls).start()
    return runner


def _write_kubeconfig(path: Path, port: int, upstream: ClusterConfig, ca: Path) -> None:
    token = (upstream.credentials.authorization() or "").removeprefix("Bearer ")
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "proxy",
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        "clusters": [
            {
                "name": "proxy",
                "cluster": {"server": f"https://{HOST}:{port}", "certificate-authority": str(ca)},
            }
        ],
        "users": [{"name": "proxy", "user": {"token": token}}],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(body))
