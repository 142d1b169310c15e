"""/healthz, /readyz, /leadz and /metrics: is the process alive, would it admit an order, does it lead, what has it done."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest


def health_routes(missing: Callable[[], list[str]], *, is_leading: Callable[[], bool]) -> list[web.RouteDef]:
    """Give the routes. Ready means: an order would be judged now. A follower is healthy and not ready.

    A leader that is not ready yet should be asked all the same: it answers when to ask again. So what a Service goes by is /leadz.
    """

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        reasons = missing()
        return web.Response(
            status=503 if reasons else 200, text="".join(f"{reason}\n" for reason in reasons) or "ok\n"
        )

    async def leadz(_: web.Request) -> web.Response:
        leads = is_leading()
        return web.Response(status=200 if leads else 503, text="leading\n" if leads else "following\n")

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/leadz", leadz)]


def metrics_app(missing: Callable[[], list[str]], *, is_leading: Callable[[], bool]) -> web.Application:
    """Health and metrics over plain HTTP, for a scraper inside the cluster."""

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_routes([*health_routes(missing, is_leading=is_leading), web.get("/metrics", metrics)])
    return app
