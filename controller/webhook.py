"""The HTTPS server the API server asks before it stores an order."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import structlog
from aiohttp import web

from controller.admission import AdmissionDesk
from controller.health import health_routes

log = structlog.get_logger(__name__)

CLAIM_PATH: Final = "/validate-gpuclaim"
CLASS_PATH: Final = "/validate-gpuclass"
MAX_REVIEW_BYTES: Final = 4 * 1024 * 1024  # the API server accepts objects up to 3 MiB


def webhook_app(
    desk: AdmissionDesk, *, missing: Callable[[], list[str]], is_leading: Callable[[], bool]
) -> web.Application:
    """Build the application. ``missing`` names what keeps the process from admitting orders; empty: ready."""
    app = web.Application(client_max_size=MAX_REVIEW_BYTES)
    app.router.add_post(CLAIM_PATH, _review(desk.review_claim))
    app.router.add_post(CLASS_PATH, _review(desk.review_class))
    app.router.add_routes(health_routes(missing, is_leading=is_leading))
    return app


def _review(answer: Callable[[bytes], bytes]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        body = await request.read()
        try:
            return web.Response(body=answer(body), content_type="application/json")
        except msgspec.DecodeError as error:
            log.warning("not an admission review", error=str(error))
            return web.Response(status=400, text="not an AdmissionReview\n")

    return handle


async def serve(
    app: web.Application, *, host: str, port: int, tls: ssl.SSLContext | None
) -> tuple[web.AppRunner, int]:
    """Listen; give the runner to clean up and the port that was taken (``port`` 0: any free one)."""
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    site = web.TCPSite(runner, host, port, ssl_context=tls, reuse_address=True)
    await site.start()
    return runner, int(runner.addresses[0][1])
