"""Wires the parts of one controller process: gateway, webhook, leadership, and a term of work while it leads."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime

import structlog

from controller.admission import AdmissionDesk
from controller.fenced import CONNECTIONS
from controller.health import metrics_app
from controller.leader import Leadership, utc_now
from controller.memory import drop_picture
from controller.options import Options
from controller.term import Term
from controller.tls import WebhookTls, given, made_here
from controller.webhook import serve, webhook_app
from controller.webhook_config import ServiceAddress, WebhookAddress
from kube import config as kube_config
from kube.aio import AsyncGateway

log = structlog.get_logger(__name__)


def announce_on_stdout(line: str) -> None:
    """Tell a supervisor: "listening URL", "following IDENTITY", "ready URL"."""
    print(line, flush=True)


async def run_until_stopped(options: Options) -> None:
    """Run the controller until SIGTERM or SIGINT; then stop writing and give the lease back."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    await run(options, stop=stop, announce=announce_on_stdout)


async def run(
    options: Options,
    *,
    stop: asyncio.Event,
    announce: Callable[[str], None],
    now: Callable[[], datetime] = utc_now,
) -> None:
    """Run the controller until ``stop`` is set. Raises what ends it otherwise.

    ``now`` is for what is written down, and for certificates; nothing here is decided by it.
    """
    service = ServiceAddress(namespace=options.lease_namespace, name=options.webhook_service)
    names = (options.webhook_host, *service.host_names)
    tls = WebhookTls(given(options.tls) if options.tls else made_here(options.state, names, now=now))
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(
            AsyncGateway.connect(kube_config.load(options.kubeconfig), pool_size=CONNECTIONS)
        )
        controller = Controller(options, gateway, announce=announce, now=now)
        app = webhook_app(
            controller.desk, missing=controller.missing, is_leading=lambda: controller.is_leading
        )
        runner, port = await serve(app, host=options.webhook_host, port=options.webhook_port, tls=tls.context)
        stack.push_async_callback(runner.cleanup)
        if options.metrics_port is not None:
            scraped = metrics_app(controller.missing, is_leading=lambda: controller.is_leading)
            runner, _ = await serve(scraped, host=options.webhook_host, port=options.metrics_port, tls=None)
            stack.push_async_callback(runner.cleanup)
        base_url = f"https://{options.webhook_host}:{port}"
        announce(f"listening {base_url}")
        address = WebhookAddress(
            ca=lambda: tls.ca,
            base_url=base_url,
            service=service if options.install_webhook == "service" else None,
        )
        async with asyncio.TaskGroup() as tasks:
            renewing = tasks.create_task(tls.keep_renewed(controller.publish_authority))
            leading = tasks.create_task(controller.lead(address))
            await stop.wait()
            leading.cancel()
            renewing.cancel()


class Controller:
    """Follows until it leads, leads until it loses the lease, and so on."""

    def __init__(
        self,
        options: Options,
        gateway: AsyncGateway,
        *,
        announce: Callable[[str], None],
        now: Callable[[], datetime],
    ) -> None:
        self.desk = AdmissionDesk()
        self._options = options
        self._gateway = gateway
        self._announce = announce
        self._now = now
        self._term: Term | None = None
        self._leadership = Leadership(
            gateway,
            namespace=options.lease_namespace,
            identity=options.identity,
            times=options.lease,
            now=now,
        )

    @property
    def is_leading(self) -> bool:
        """True while the lease is held, so that a review belongs here."""
        return self._term is not None and self._leadership.is_held

    def publish_authority(self) -> None:
        """Have the webhook configuration name the authority it should trust now."""
        if self._term is not None:
            self._term.look_at_webhook()

    def missing(self) -> list[str]:
        """Name what keeps this process from admitting orders; nothing: it is ready."""
        return ["the lease is held by another controller"] if self._term is None else self._term.missing()

    async def lead(self, address: WebhookAddress) -> None:
        """Take turns at leading, for ever. Gives the lease back when cancelled."""
        try:
            while True:
                self._announce(f"following {self._leadership.identity}")
                is_successor = await self._leadership.acquire()
                await self._serve_term(address, is_successor)
        finally:
            await self._leadership.release()

    async def _serve_term(self, address: WebhookAddress, is_successor: bool) -> None:
        term = Term(
            self._gateway,
            self._leadership,
            self._options,
            is_successor=is_successor,
            webhook=None if self._options.install_webhook == "none" else address,
            now=self._now,
            on_ready=lambda: self._announce(f"ready {address.base_url}"),
        )
        self._term = self.desk.judge = term
        try:
            async with asyncio.TaskGroup() as tasks:
                work = tasks.create_task(term.run())
                await self._leadership.keep()
                work.cancel()
        finally:
            self._term = self.desk.judge = None
            del term
            drop_picture()
