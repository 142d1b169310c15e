"""A loopback server that does what a test scripts: the faults no honest API server shows on demand.

Real sockets, one thread per connection. The script is called once per request and yields what happens on the wire: bytes are sent as
they are, ``STALL`` keeps silent until the client goes away, ``RESET`` cuts the connection off.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, BinaryIO
from urllib.parse import parse_qs, urlsplit


class Act(Enum):
    STALL = "stall"
    RESET = "reset"
    CLOSE = "close"


STALL, RESET, CLOSE = Act.STALL, Act.RESET, Act.CLOSE


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {key: values[0] for key, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def all(self, header: str) -> list[str]:
        return [value for name, value in self.headers if name.lower() == header.lower()]

    def one(self, header: str) -> str | None:
        found = self.all(header)
        assert len(found) <= 1, f"{header} was sent {len(found)} times"
        return found[0] if found else None


Script = Callable[[Request], Iterable[bytes | Act]]


@dataclass
class ScriptedServer:
    script: Script
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(5)
        with self._changed:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def wait_for(self, *, requests: int = 0, open_connections: int | None = None) -> None:
        """Wait until so many requests came, and so many connections are open; five seconds at most."""

        def is_so() -> bool:
            return len(self.requests) >= requests and open_connections in (None, len(self._open))

        with self._changed:
            assert self._changed.wait_for(is_so, timeout=5), "the client did not do what was waited for"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._changed:
                self.connections += 1
                self._open.add(connection)
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as reader:
            self._converse(connection, reader)
        with self._changed:
            self._open.discard(connection)
            self._changed.notify_all()

    def _converse(self, connection: socket.socket, reader: BinaryIO) -> None:
        while (request := _read_request(reader)) is not None:
            with self._changed:
                self.requests.append(request)
                self._changed.notify_all()
            for step in self.script(request):
                if isinstance(step, bytes):
                    connection.sendall(step)
                    continue
                if step is STALL:
                    reader.read(1)  # returns when the client, or the end of the test, closes
                elif step is RESET:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return


def _read_request(reader: BinaryIO) -> Request | None:
    line = reader.readline().decode("latin-1")
    if not line:
        return None
    method, target, _ = line.split(" ", 2)
    headers = []
    while (header := reader.readline().strip()) != b"":
        name, _, value = header.partition(b":")
        headers.append((name.decode(), value.strip().decode("utf-8")))
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Request(method, target, headers, reader.read(length))


@contextlib.contextmanager
def scripted(script: Script) -> Iterator[ScriptedServer]:
    server = ScriptedServer(script)
    try:
        yield server
    finally:
        server.stop()


def reply(body: object = b"", *headers: tuple[str, str], code: int = 200) -> bytes:
    """Give a whole answer. A body that is not bytes goes out as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {code} Scripted", f"Content-Length: {len(data)}", *(f"{k}: {v}" for k, v in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + data


def status(code: int, reason: str, message: str, **details: object) -> bytes:
    """Give a failure as the API server words it."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }
    return reply(body, code=code)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def line(event_type: str, body: object) -> bytes:
    return json.dumps({"type": event_type, "object": body}).encode() + b"\n"


def told(event_type: str, body: object) -> bytes:
    """Give one watch event as one chunk."""
    return chunk(line(event_type, body))


def namespace(name: str, *, version: str = "1", uid: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": version}}


def listed(*items: object, version: str = "10", continue_: str = "") -> bytes:
    metadata = {"resourceVersion": version, **({"continue": continue_} if continue_ else {})}
    return reply({"kind": "List", "metadata": metadata, "items": list(items)})
