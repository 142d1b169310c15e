"""A relay on loopback that stands between a client and its API server and writes down what is asked for.

What RBAC calls a request (verb, resource) is read from method and path, as the API server does. One change of each resource can be
answered Conflict, so that what a client does after a conflict is seen as well.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import yaml
from aiohttp import web

from kube.certificates import keep_server_files

HOST = "127.0.0.1"
HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "content-encoding"}
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}

CONFLICT = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "reason": "Conflict",
    "code": 409,
    "message": "the object has been modified",
}

Right = tuple[str, str, str]
"""API group, resource with subresource, verb."""


def right_of(method: str, path: str, query: str) -> Right | None:
    """Give what RBAC is asked about a request, None for paths that are no resources."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return None
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    resource = "/".join((rest[0], *rest[2:]))
    is_named = len(rest) > 1
    if method == "GET":
        verb = "get" if is_named else "watch" if "watch=true" in query or "watch=1" in query else "list"
    elif method == "DELETE":
        verb = "delete" if is_named else "deletecollection"
    else:
        verb = VERBS[method]
    return group, resource, verb


@dataclass
class Recorder:
    """``kubeconfig`` leads through the relay. ``seen`` are the rights that were used, ``conflicts`` the resources to be refused once."""

    kubeconfig: Path
    seen: set[Right] = field(default_factory=set)
    conflicts: set[str] = field(default_factory=set)

    def forget(self) -> None:
        self.seen.clear()


@contextmanager
def recording(kubeconfig: Path, folder: Path) -> Iterator[Recorder]:
    """Relay to the server of the kubeconfig, as the user that it is of."""
    folder.mkdir(parents=True, exist_ok=True)
    given = yaml.safe_load(kubeconfig.read_text())
    upstream = given["clusters"][0]["cluster"]
    trust = folder / "upstream-ca.crt"
    trust.write_bytes(base64.b64decode(upstream["certificate-authority-data"]))
    files = keep_server_files(folder / "tls", [HOST], now=datetime.now(UTC), authority_name="recorder")
    recorder = Recorder(folder / "kubeconfig")
    relay = _Relay(recorder, upstream["server"], ssl.create_default_context(cafile=str(trust)))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.certificate, files.key)
    port = asyncio.run_coroutine_threadsafe(relay.start(tls), loop).result(30)
    given["clusters"][0]["cluster"] = {
        "server": f"https://{HOST}:{port}",
        "certificate-authority": str(files.ca),
    }
    recorder.kubeconfig.write_text(yaml.safe_dump(given))
    yield recorder
    asyncio.run_coroutine_threadsafe(relay.stop(), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


class _Relay:
    def __init__(self, recorder: Recorder, upstream: str, trust: ssl.SSLContext) -> None:
        self._recorder = recorder
        self._upstream = upstream
        self._trust = trust

    async def start(self, tls: ssl.SSLContext) -> int:
        connector = aiohttp.TCPConnector(ssl=self._trust, limit=0)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        app = web.Application(client_max_size=16 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, 0, ssl_context=tls).start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()
        streams = asyncio.all_tasks() - {asyncio.current_task()}  # watches whose client is gone
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        right = right_of(request.method, request.path, request.query_string)
        if right is not None:
            self._recorder.seen.add(right)
            if right[2] in ("patch", "update") and right[1] in self._recorder.conflicts:
                self._recorder.conflicts.discard(right[1])
                return web.json_response(CONFLICT, status=409)
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP]
        body = await request.read()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
        url = self._upstream + request.raw_path
        async with self._session.request(
            request.method, url, headers=headers, data=body or None, timeout=timeout
        ) as answer:
            response = web.StreamResponse(
                status=answer.status,
                headers=[
                    (name, value) for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP
                ],
            )
            if "Content-Encoding" in answer.headers:
                response.headers["Content-Encoding"] = answer.headers["Content-Encoding"]
            await response.prepare(request)
            with suppress(aiohttp.ClientError):  # either end may go at any time
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
            return response
