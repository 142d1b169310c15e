"""A wire that can be cut: a relay of TCP connections between one client and its API server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

HOST = "127.0.0.1"


@dataclass
class Wire:
    """``kubeconfig`` leads through the wire. Cut, it refuses connections and drops those it has; silent, it carries nothing."""

    kubeconfig: Path
    _relay: _Relay = field(repr=False)

    def cut(self) -> None:
        self._relay.do(self._relay.cut)

    def fall_silent(self) -> None:
        """Keep every connection open and carry not one byte more: a network that drops packets."""
        self._relay.do(self._relay.fall_silent)

    def mend(self) -> None:
        self._relay.do(self._relay.mend)


@contextmanager
def wire_to(kubeconfig: Path, folder: Path) -> Iterator[Wire]:
    """Lay a wire to the server of the kubeconfig."""
    text = kubeconfig.read_text()
    url = next(line.split()[1] for line in text.splitlines() if line.strip().startswith("server:"))
    target = urlsplit(url)
    assert target.port is not None
    relay = _Relay(target.port)
    port = relay.start()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "kubeconfig"
    path.write_text(text.replace(url, f"https://{HOST}:{port}"))
    try:
        yield Wire(path, relay)
    finally:
        relay.stop()


class _Relay:
    """Runs in a thread of its own, so that tests may block."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self._carries = asyncio.Event()

    def start(self) -> int:
        self._thread.start()
        self._carries.set()
        future = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._join, HOST, 0), self._loop)
        self._server = future.result(10)
        return int(self._server.sockets[0].getsockname()[1])

    def do(self, what: Callable[[], None]) -> None:
        async def call() -> None:
            what()

        asyncio.run_coroutine_threadsafe(call(), self._loop).result(10)

    def cut(self) -> None:
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def fall_silent(self) -> None:
        self._carries.clear()

    def mend(self) -> None:
        self._is_cut = False
        self._carries.set()

    def stop(self) -> None:
        async def end() -> None:
            self._server.close()
            self.cut()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(HOST, self._target)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, far_writer}
        self._writers |= ends
        try:
            await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))
        except asyncio.CancelledError:  # the end of the test; asyncio's streams would complain of it
            return
        finally:
            self._writers -= ends
            for end in ends:
                end.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._carries.wait()
                writer.write(data)
                await writer.drain()
        if writer.can_write_eof():
            with suppress(OSError):
                writer.write_eof()
