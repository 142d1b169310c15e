from __future__ import annotations

import io
from collections.abc import AsyncIterator

import aiohttp
import pytest

from controller.admission import AdmissionDesk
from controller.health import metrics_app
from controller.webhook import serve, webhook_app


class Process:
    """What is asked about it."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.leads = True

    def missing(self) -> list[str]:
        return self.reasons

    def is_leading(self) -> bool:
        return self.leads


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
async def urls(process: Process) -> AsyncIterator[tuple[str, str]]:
    """The webhook's server, without TLS here, and the one for scrapers."""
    desk = AdmissionDesk()
    webhook, port = await serve(
        webhook_app(desk, missing=process.missing, is_leading=process.is_leading),
        host="127.0.0.1",
        port=0,
        tls=None,
    )
    scraped, other_port = await serve(
        metrics_app(process.missing, is_leading=process.is_leading), host="127.0.0.1", port=0, tls=None
    )
    yield f"http://127.0.0.1:{port}", f"http://127.0.0.1:{other_port}"
    await webhook.cleanup()
    await scraped.cleanup()


async def answer(method: str, url: str, *, body: bytes | None = None) -> tuple[int, str]:
    data = None if body is None else io.BytesIO(body)
    async with aiohttp.ClientSession() as session, session.request(method, url, data=data) as response:
        return response.status, await response.text()


async def test_ready_means_that_an_order_would_be_judged_now(urls: tuple[str, str], process: Process) -> None:
    for url in urls:
        assert await answer("GET", f"{url}/readyz") == (200, "ok\n")

    process.reasons = ["pods are not listed yet", "the lease is not held"]

    for url in urls:
        assert await answer("GET", f"{url}/readyz") == (
            503,
            "pods are not listed yet\nthe lease is not held\n",
        )
        assert await answer("GET", f"{url}/healthz") == (200, "ok\n")


async def test_a_leader_that_cannot_judge_yet_is_asked_all_the_same(
    urls: tuple[str, str], process: Process
) -> None:
    process.reasons = ["pods are not listed yet"]
    for url in urls:
        assert await answer("GET", f"{url}/leadz") == (200, "leading\n")

    process.leads = False

    for url in urls:
        assert await answer("GET", f"{url}/leadz") == (503, "following\n")


async def test_what_was_done_can_be_scraped(urls: tuple[str, str]) -> None:
    status, text = await answer("GET", f"{urls[1]}/metrics")

    assert status == 200
    assert "gpu_portal_orders" in text
    assert "gpu_portal_leading" in text


@pytest.mark.parametrize("body", [b"", b"{}", b"not json"])
async def test_a_caller_that_sends_no_review_is_told_so(urls: tuple[str, str], body: bytes) -> None:
    assert (await answer("POST", f"{urls[0]}/validate-gpuclaim", body=body))[0] == 400


async def test_a_review_beyond_any_objects_size_is_not_read(urls: tuple[str, str]) -> None:
    assert (await answer("POST", f"{urls[0]}/validate-gpuclaim", body=b" " * 5 * 1024 * 1024))[0] == 413
