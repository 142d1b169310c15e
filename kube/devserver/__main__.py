"""Start the server: ``python -m kube.devserver --data DIR``."""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import gc
import logging
import signal
import socket
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

import uvicorn

from kube.certificates import ServerFiles, keep_server_files
from kube.devserver import bootstrap
from kube.devserver.accounts import Account, Accounts
from kube.devserver.app import App
from kube.devserver.auth import Authenticator, read_tokens
from kube.devserver.state import State
from kube.devserver.store import Store
from kube.devserver.terminating import resume

_HOST: Final = "127.0.0.1"
_LAST_ANSWERS_SECONDS: Final = 2.0
_NAMES: Final = ("127.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kube.devserver", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder for state, certificates, kubeconfigs"
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--crds", type=Path, default=None, help="folder of CRDs to serve")
    parser.add_argument(
        "--compaction", type=int, default=10_000, help="changes per kind that watches can go back"
    )
    parser.add_argument(
        "--user", type=Account.parse, action="append", default=[], metavar="NAME:GROUP,GROUP",
        help="another user with a kubeconfig-NAME; may be repeated",
    )  # fmt: skip
    return parser.parse_args(argv)


def _lock(folder: Path) -> IO[str]:
    """Take the folder for this process, until it ends: two servers would each keep a picture of one file."""
    held = (folder / "lock").open("w", encoding="utf-8")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise SystemExit(f"kube.devserver: another server uses {folder}") from error
    return held


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
    except OSError as error:
        raise SystemExit(f"kube.devserver: port {port} cannot be used: {error.strerror}") from error
    listener.listen(1024)
    return listener


async def _serve(app: App, listener: socket.socket, files: ServerFiles, ready: str) -> None:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http="httptools",
        ws="none",
        server_header=False,
        ssl_certfile=str(files.certificate),
        ssl_keyfile=str(files.key),
        timeout_keep_alive=120,
        backlog=1024,
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve([listener]))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    print(ready, flush=True)
    app.warm_up()
    await asyncio.wait({serving, asyncio.create_task(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    app.watches.end_all()
    if server.server_state.tasks:
        await asyncio.wait(server.server_state.tasks, timeout=_LAST_ANSWERS_SECONDS)
    # Not to be waited for: clients that keep an idle TLS connection and do not answer its end.
    server.force_exit = True
    await serving
    await app.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    arguments = _arguments(argv)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    data: Path = arguments.data
    data.mkdir(parents=True, exist_ok=True)
    lock = _lock(data)
    listener = _listen(arguments.port)
    url = f"https://{_HOST}:{listener.getsockname()[1]}"
    files = keep_server_files(
        data / "tls", _NAMES, now=datetime.now(UTC), authority_name="GPU Portal dev server"
    )
    accounts = Accounts.issue(data, arguments.user)
    accounts.write_kubeconfigs(url, files.ca_bundle)
    store = Store(data / "state.sqlite3", history_length=arguments.compaction)
    state = State(store)
    resume(state)
    bootstrap.fill(state)
    for crd in bootstrap.read_crds(arguments.crds) if arguments.crds else ():
        bootstrap.install(state, crd)
    app = App(state, Authenticator(read_tokens(accounts.tokens)))
    # What is loaded stays; what requests make is short-lived and rarely in cycles: long looks at everything are wasted.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    print("kube.devserver: for demo and tests only, not a cluster", file=sys.stderr)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(app, listener, files, f"ready {url}"))
    store.close()
    lock.close()
    return 0


def _loop_factory() -> type[asyncio.AbstractEventLoop]:
    import uvloop

    return uvloop.Loop


if __name__ == "__main__":
    sys.exit(main())
