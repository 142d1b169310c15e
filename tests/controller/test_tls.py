"""The webhook's certificate: whose it is, and how it changes without an order failing for it."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from controller.options import parse_options
from controller.tls import WebhookTls, given, made_here
from kube.certificates import ServerFiles, issue_authority, issue_server
from kube.kinds import WEBHOOKS
from tests.controller.cluster import Cluster
from tests.controller.conftest import Start

HOST = "127.0.0.1"
Listen = Callable[[WebhookTls], Awaitable[int]]


def issue_to(folder: Path, authority_name: str) -> ServerFiles:
    """Write a certificate of a new authority, as a tool that keeps a Secret does."""
    folder.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    authority = issue_authority(authority_name, now=now)
    server = issue_server(authority, [HOST], now=now)
    files = ServerFiles(ca=folder / "ca.crt", certificate=folder / "tls.crt", key=folder / "tls.key")
    files.ca.write_bytes(authority.certificate)
    files.key.write_bytes(server.key)
    files.certificate.write_bytes(server.certificate)
    return files


def trusts(ca: bytes, port: int) -> bool:
    """Say whether a client that trusts the authority reaches the server on the port."""
    context = ssl.create_default_context(cadata=ca.decode())
    try:
        with (
            socket.create_connection((HOST, port), timeout=5) as raw,
            context.wrap_socket(raw, server_hostname=HOST),
        ):
            return True
    except ssl.SSLCertVerificationError:
        return False


@pytest.fixture
async def listen() -> AsyncIterator[Listen]:
    runners: list[web.AppRunner] = []

    async def start(tls: WebhookTls) -> int:
        runner = web.AppRunner(web.Application())
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, HOST, 0, ssl_context=tls.context).start()
        return int(runner.addresses[0][1])

    yield start
    for runner in runners:
        await runner.cleanup()


async def test_a_new_authority_is_published_before_anything_signed_by_it_is_met(
    tmp_path: Path,
    listen: Listen,
) -> None:
    files = issue_to(tmp_path, "first")
    tls = WebhookTls(given(files), check_seconds=0.02, overlap_seconds=2.0)
    port = await listen(tls)
    first = tls.ca
    published = asyncio.Event()
    renewing = asyncio.create_task(tls.keep_renewed(published.set))

    issue_to(tmp_path, "second")
    await asyncio.wait_for(published.wait(), 10)

    bundle = tls.ca
    assert await asyncio.to_thread(trusts, first, port), "who has not read the bundle is still served"
    assert await asyncio.to_thread(trusts, bundle, port)
    async with asyncio.timeout(10):
        while await asyncio.to_thread(trusts, first, port):
            await asyncio.sleep(0.05)
    assert await asyncio.to_thread(trusts, bundle, port), "and the bundle covers the new one too"
    renewing.cancel()


async def test_files_half_written_leave_what_is_in_use(tmp_path: Path, listen: Listen) -> None:
    files = issue_to(tmp_path, "first")
    tls = WebhookTls(given(files), check_seconds=0.02, overlap_seconds=0.0)
    port = await listen(tls)
    ca = tls.ca
    renewing = asyncio.create_task(tls.keep_renewed(lambda: None))

    files.key.write_bytes(b"half a ")
    await asyncio.sleep(0.2)

    assert await asyncio.to_thread(trusts, ca, port)
    assert not renewing.done()
    issue_to(tmp_path, "second")
    async with asyncio.timeout(10):
        while not await asyncio.to_thread(trusts, files.ca.read_bytes(), port):
            await asyncio.sleep(0.05)
    renewing.cancel()


async def test_a_certificate_made_here_is_renewed_when_two_thirds_of_its_life_are_over(
    tmp_path: Path, listen: Listen
) -> None:
    day = datetime.now(UTC) - timedelta(days=300)
    tls = WebhookTls(made_here(tmp_path, [HOST], now=lambda: day), check_seconds=0.02, overlap_seconds=0.0)
    port = await listen(tls)
    ca, first = tls.ca, (tmp_path / "server.crt").read_bytes()
    renewing = asyncio.create_task(tls.keep_renewed(lambda: None))

    day = datetime.now(UTC)
    async with asyncio.timeout(10):
        while (tmp_path / "server.crt").read_bytes() == first:
            await asyncio.sleep(0.02)

    assert tls.ca == ca, "the authority lives on, so nothing has to be published"
    assert await asyncio.to_thread(trusts, ca, port)
    renewing.cancel()


@pytest.mark.parametrize("missing", ["--tls-ca", "--tls-key", "--tls-certificate"])
def test_the_three_files_go_together(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {"--tls-ca", "--tls-key", "--tls-certificate"} - {missing}

    with pytest.raises(SystemExit):
        parse_options([f"{flag}=/x" for flag in flags], {})

    assert "go together" in capsys.readouterr().err


async def test_a_given_certificate_is_what_the_api_server_is_told_to_trust(
    cluster: Cluster, start: Start, tmp_path: Path
) -> None:
    files = issue_to(tmp_path / "given", "the hoster's own")

    start(f"--tls-ca={files.ca}", f"--tls-certificate={files.certificate}", f"--tls-key={files.key}")

    stored = json.loads((await cluster.gateway.get(WEBHOOKS, "gpu-portal")).raw)
    for webhook in stored["webhooks"]:
        assert base64.b64decode(webhook["clientConfig"]["caBundle"]) == files.ca.read_bytes()
    await cluster.order("train", 2)
    await cluster.until_bound("train")


async def test_the_webhook_fails_closed_and_is_asked_about_nothing_else(
    cluster: Cluster, start: Start
) -> None:
    start()

    stored = json.loads((await cluster.gateway.get(WEBHOOKS, "gpu-portal")).raw)

    assert {webhook["failurePolicy"] for webhook in stored["webhooks"]} == {"Fail"}
    rules = {
        (rule["resources"][0], operation)
        for webhook in stored["webhooks"]
        for rule in webhook["rules"]
        for operation in rule["operations"]
    }
    assert rules == {("gpuclaims", "CREATE"), ("gpuclasses", "UPDATE"), ("gpuclasses", "DELETE")}
    assert parse_options([], {}).timings.webhook_seconds == 5
