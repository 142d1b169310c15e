"""The event stream and the health pages of the real web process."""

from __future__ import annotations

import json
import signal
import time

import pytest

from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NAMESPACES
from portal.models import RECORDS, FeedState
from tests.builders import a_claim, a_class, a_namespace
from tests.portal.browsing import Browser
from tests.portal.processes import Portal
from tests.waiting import until


@pytest.fixture
def web(portal: Portal) -> str:
    portal.put(NAMESPACES, a_namespace("tenant-acme"))
    portal.put(NAMESPACES, a_namespace("tenant-globex"))
    portal.environment = {"LIVE_RECHECK_SECONDS": "0.3"}
    return portal.web()


def a_browser(web: str, username: str) -> Browser:
    browser = Browser(web)
    browser.sign_in(username)
    return browser


def mirror(portal: Portal) -> None:
    portal.mirror()
    live = portal.rows(FeedState).exclude(live_since=None)
    until(lambda: live.count() == len(RECORDS), what="every kind is live")


def test_a_page_hears_of_its_tenant_and_of_no_other(portal: Portal, web: str) -> None:
    mirror(portal)
    alice = a_browser(web, "alice")

    with alice.stream("/live/?tenant=tenant-acme") as stream:
        assert stream.status == 200
        assert stream.headers["X-Accel-Buffering"] == "no"
        assert stream.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert "no-cache" in stream.headers["Cache-Control"]
        stream.until("live")

        portal.put(GPU_CLAIMS, a_claim("theirs", namespace="tenant-globex"))
        portal.put(GPU_CLASSES, a_class())
        assert "claims" not in stream.until("classes")

        portal.put(GPU_CLAIMS, a_claim("ours", namespace="tenant-acme"))
        assert "nodes" not in stream.until("claims")


def test_a_strangers_tenant_does_not_exist_and_nobody_is_told_not_to_come_again(web: str) -> None:
    with a_browser(web, "charlie").stream("/live/?tenant=tenant-acme") as stream:
        assert stream.status == 404
    with Browser(web).stream("/live/?tenant=tenant-acme") as stream:
        assert stream.status == 204


def test_the_stream_closes_when_the_session_ends(web: str) -> None:
    alice = a_browser(web, "alice")

    with alice.stream("/live/?tenant=tenant-acme") as stream:
        alice.post("/logout/", {})
        stream.until("close")
        assert stream.event() is None


def test_without_redis_the_page_is_told_and_told_again_when_it_is_back(portal: Portal, web: str) -> None:
    hoster = a_browser(web, "hoster")

    with hoster.stream() as stream:
        stream.until("live")
        portal.redis.kill()
        stream.until("stale")
        with hoster.stream() as late:
            late.until("stale")
        portal.redis.start()
        assert stream.until("live") == []
        assert {stream.event() for _ in range(4)} == {"budget", "claims", "classes", "nodes"}


def test_the_process_stops_at_once_with_streams_open(portal: Portal, web: str) -> None:
    with a_browser(web, "hoster").stream() as stream:
        stream.until("live")
        process = portal._running[-1]
        started = time.monotonic()

        process.send_signal(signal.SIGTERM)
        while stream.event() is not None:
            pass

        process.wait(timeout=10)
        assert time.monotonic() - started < 3, "it waited for the grace time"


def test_readyz_names_what_is_down(portal: Portal, web: str) -> None:
    browser = Browser(web)

    def down() -> list[str]:
        status, _, text = browser.get("/readyz")
        names: list[str] = json.loads(text)["down"]
        assert (status == 200) is (names == [])
        return names

    assert browser.get("/healthz")[0] == 200
    assert down() == ["first sync", "mirror", "worker"]
    mirror(portal)
    portal.worker()
    portal.beat()
    until(lambda: down() == [], what="everything is ready", seconds=40)

    portal.redis.kill()
    assert "redis" in down()
    portal.server.kill()
    assert "cluster" in down()
    assert browser.get("/healthz")[0] == 200


def test_sync_now_needs_the_hoster_and_says_when_the_queue_is_away(portal: Portal, web: str) -> None:
    hoster = a_browser(web, "hoster")

    assert a_browser(web, "alice").post("/sync/", {})[0] == 404
    assert hoster.post("/sync/", {})[0] == 302

    portal.redis.kill()
    status, headers, text = hoster.post("/sync/", {})
    assert status == 503
    assert headers["Retry-After"] == "5"
    assert "queue does not answer" in text
