from __future__ import annotations

import base64
import logging
import time
from contextlib import aclosing
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kube import errors
from kube.aio import AsyncGateway
from kube.certificates import ServerFiles
from kube.config import ClusterConfig, load, proxy_for
from kube.credentials import Fixed
from kube.kinds import NAMESPACES
from kube.watching import EventType, watch
from tests.kube.scripted import STALL, scripted
from tests.kube.tls import kubeconfig, now, tls_files, tls_server, tunnel
from tests.kube.verbs import Connect, connect

__all__ = ["connect", "now", "tls_files", "tls_server", "tunnel"]


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        ("https://10.96.0.1:443", {"https": "http://proxy:3128", "no": "10.96.0.0/12,.svc,localhost"}, None),
        ("https://10.128.0.1:443", {"https": "http://proxy:3128", "no": "10.96.0.0/12"}, "http://proxy:3128"),
        ("https://api.example:6443", {"https": "http://proxy:3128"}, "http://proxy:3128"),
        ("https://kubernetes.default.svc", {"https": "http://proxy:3128", "no": ".svc"}, None),
        ("https://kubernetes.default.svc", {"https": "http://proxy:3128", "no": "svc"}, None),
        ("https://api.example:6443", {"https": "http://proxy:3128", "no": "*"}, None),
        ("https://api.example:6443", {"http": "http://proxy:3128"}, None),
        ("https://api.example:6443", {"all": "http://proxy:3128"}, "http://proxy:3128"),
        ("https://[fd00::1]:443", {"https": "http://proxy:3128", "no": "fd00::/8"}, None),
        ("https://127.0.0.1:6443", {"https": "http://proxy:3128"}, None),
        ("https://localhost:6443", {"https": "http://proxy:3128"}, None),
        ("https://[::1]:6443", {"https": "http://proxy:3128"}, None),
        ("https://notlocalhost:6443", {"https": "http://proxy:3128"}, "http://proxy:3128"),
    ],
)
def test_the_proxy_is_chosen_as_kubectl_chooses_it(
    server: str, environment: dict[str, str], proxy: str | None
) -> None:
    assert proxy_for(server, environment) == proxy


@pytest.mark.parametrize("spell", [str.upper, str.lower])
def test_proxy_variables_are_read_in_either_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spell: Any
) -> None:
    for name in ("HTTPS_PROXY", "NO_PROXY", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(spell("https_proxy"), "http://user:pass@proxy:3128")
    monkeypatch.setenv(spell("no_proxy"), "10.96.0.0/12")

    through = load(kubeconfig(tmp_path, server="https://api.example:6443"))
    direct = load(kubeconfig(tmp_path, server="https://10.96.0.1:443"))

    assert through.route == "https://api.example:6443 through the proxy http://proxy:3128"
    assert "pass" not in repr(through)
    assert direct.route == "https://10.96.0.1:443 directly"


def test_a_kubeconfigs_own_proxy_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")

    config = load(kubeconfig(tmp_path, user={}, **{"proxy-url": "http://own:3128"}))

    assert config.route == "https://127.0.0.1:6443 through the proxy http://own:3128"


def test_requests_really_go_through_the_proxy_and_the_start_says_so(
    connect: Connect,
    caplog: pytest.LogCaptureFixture,
    tls_files: ServerFiles,
    tls_server: ThreadingHTTPServer,
    tunnel: tuple[str, list[bytes]],
) -> None:
    proxy, heads = tunnel
    address = f"127.0.0.1:{tls_server.server_port}"
    config = ClusterConfig(
        server=f"https://{address}",
        ca=tls_files.ca_bundle.decode(),
        proxy=proxy,
        credentials=Fixed("Bearer service"),
    )

    with caplog.at_level(logging.INFO):
        read = connect(config).get(NAMESPACES, "a")

    assert read.object.metadata.labels["token"] == "Bearer service"
    (head,) = heads
    assert head.startswith(f"CONNECT {address} ".encode())
    assert b"Basic " + base64.b64encode(b"user:pass") in head
    assert b"service" not in head
    assert f"{address} through the proxy http://127.0.0.1" in caplog.text
    assert "user:pass" not in caplog.text


@pytest.mark.parametrize(
    ("server", "proxy"),
    [("http://api.example", "http://proxy:3128"), ("https://api.example", "socks5://proxy:1080")],
)
def test_a_proxy_that_cannot_be_used_safely_is_refused_at_start(server: str, proxy: str) -> None:
    with pytest.raises(errors.Misconfigured):
        ClusterConfig(server=server, proxy=proxy)


def behind(proxy: str) -> ClusterConfig:
    return ClusterConfig(server="https://api.example:6443", proxy=proxy)


def test_a_proxy_that_takes_a_call_and_says_nothing_is_not_waited_for_longer_than_a_connection(
    connect: Connect,
) -> None:
    with scripted(lambda request: [STALL]) as proxy:
        verbs = connect(behind(proxy.url), timeout=(0.3, 30.0))
        started_at = time.monotonic()
        with pytest.raises(errors.Unavailable, match="timed out"):
            verbs.get(NAMESPACES, "a")

    assert time.monotonic() - started_at < 5
    assert proxy.requests[0].method == "CONNECT"


async def test_a_proxy_that_falls_silent_ends_a_stream_before_it_began() -> None:
    with scripted(lambda request: [STALL]) as proxy:
        async with (
            AsyncGateway.connect(behind(proxy.url), timeout=(0.3, 30.0)) as gateway,
            aclosing(
                gateway.lines(NAMESPACES, resource_version="1", timeout_seconds=50, quiet_seconds=60)
            ) as lines,
        ):
            started_at = time.monotonic()
            with pytest.raises(errors.Unavailable, match="timed out"):
                await anext(lines)

    assert time.monotonic() - started_at < 5


async def test_a_watch_through_a_silent_proxy_is_reported_lost_within_seconds() -> None:
    with scripted(lambda request: [STALL]) as proxy:
        async with (
            AsyncGateway.connect(behind(proxy.url), timeout=(0.3, 30.0)) as gateway,
            aclosing(watch(gateway, NAMESPACES)) as events,
        ):
            started_at = time.monotonic()
            lost = await anext(events)

    assert lost.type is EventType.DISCONNECTED
    assert time.monotonic() - started_at < 5
