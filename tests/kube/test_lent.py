"""Credentials that an exec plugin or an identity provider lends: it may fail, and it may never answer."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from kube import errors
from kube.aio import AsyncGateway
from kube.backoff import Backoff
from kube.config import load
from kube.gateway import Gateway
from kube.kinds import NAMESPACES
from kube.lent import GIVEN_UP_SECONDS, MARGIN, PAUSE_SECONDS, Lent, Loaded
from kube.watching import EventType, watch
from tests.kube.plugins import Plugin
from tests.kube.scripted import Act, Request, listed, namespace, reply, scripted, status
from tests.kube.tls import kubeconfig
from tests.kube.verbs import Connect, connect

__all__ = ["connect"]

T = TypeVar("T")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    plugin = Plugin(tmp_path)
    plugin.gives("first")
    return plugin


def accepting(token: str) -> Callable[[Request], Iterator[bytes]]:
    """A server to which every other token is unknown."""

    def script(request: Request) -> Iterator[bytes]:
        is_known = request.one("Authorization") == f"Bearer {token}"
        yield reply(namespace("a")) if is_known else status(401, "Unauthorized", "Unauthorized")

    return script


def once_it_can(call: Callable[[], T]) -> T:
    """Call until there are credentials."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return call()
        except errors.Unavailable:
            assert time.monotonic() < deadline


async def until_it_can(gateway: AsyncGateway) -> str:
    while True:
        try:
            return (await gateway.get(NAMESPACES, "a")).object.metadata.name
        except errors.Unavailable:
            await asyncio.sleep(0.01)


def test_a_plugin_is_asked_at_the_start_and_again_when_the_server_refuses_what_it_gave(
    connect: Connect, plugin: Plugin
) -> None:
    with scripted(accepting("second")) as server:
        verbs = connect(load(plugin.kubeconfig(server.url)))
        plugin.gives("second")
        for _ in range(3):
            verbs.get(NAMESPACES, "a")

    sent = [request.one("Authorization") for request in server.requests]
    assert sent == ["Bearer first", *["Bearer second"] * 3]
    assert plugin.runs == 2


def test_a_plugin_that_fails_makes_calls_unavailable_until_it_is_mended(
    connect: Connect, plugin: Plugin
) -> None:
    plugin.fails()

    with scripted(accepting("second")) as server:
        verbs = connect(load(plugin.kubeconfig(server.url)))
        for _ in range(3):
            with pytest.raises(errors.Unavailable, match="credentials"):
                verbs.get(NAMESPACES, "a")
        assert server.requests == []  # a call without credentials would be made as nobody

        plugin.gives("second")
        assert once_it_can(lambda: verbs.get(NAMESPACES, "a")).object.metadata.name == "a"


def test_a_plugin_that_fails_when_its_token_is_refused_is_no_foreign_error(
    connect: Connect, plugin: Plugin
) -> None:
    with scripted(accepting("second")) as server:
        verbs = connect(load(plugin.kubeconfig(server.url)))
        plugin.fails()
        with pytest.raises(errors.Unavailable, match="credentials"):
            verbs.get(NAMESPACES, "a")

    assert len(server.requests) == 1


async def test_a_watch_outlives_a_plugin_that_fails(plugin: Plugin) -> None:
    def script(request: Request) -> Iterator[bytes]:
        yield listed() if request.one("Authorization") == "Bearer second" else status(401, "", "who are you?")

    soon = Backoff(first_seconds=0.05, longest_seconds=0.05)
    with scripted(script) as server:
        cluster = load(plugin.kubeconfig(server.url))
        plugin.fails()
        async with (
            AsyncGateway.connect(cluster) as gateway,
            aclosing(watch(gateway, NAMESPACES, backoff=soon)) as events,
        ):
            lost = await anext(events)
            plugin.gives("second")
            listed_again = await anext(events)

    assert isinstance(lost.error, errors.Unavailable)
    assert listed_again.type is EventType.LISTED


async def test_a_plugin_that_hangs_holds_up_neither_the_loop_nor_a_call_for_ever(plugin: Plugin) -> None:
    with scripted(accepting("second")) as server:
        cluster = load(plugin.kubeconfig(server.url), patience_seconds=2.0)
        async with AsyncGateway.connect(cluster) as gateway:
            plugin.hangs(then="second")
            calls = [asyncio.ensure_future(gateway.get(NAMESPACES, "a")) for _ in range(5)]
            longest, before = 0.0, time.monotonic()
            while not all(call.done() for call in calls):
                await asyncio.sleep(0.01)
                longest, before = max(longest, time.monotonic() - before), time.monotonic()
            failures = await asyncio.gather(*calls, return_exceptions=True)

            await asyncio.to_thread(plugin.release)
            late = await until_it_can(gateway)

    assert [type(failure) for failure in failures] == [errors.Unavailable] * 5
    assert all("timed out" in str(failure) for failure in failures)
    assert longest < 1.5
    assert late == "a"  # its answer was of use even so
    assert plugin.runs == 2


def test_threads_wait_for_a_plugin_that_hangs_together_and_not_for_ever(plugin: Plugin) -> None:
    with (
        scripted(accepting("second")) as server,
        Gateway.connect(load(plugin.kubeconfig(server.url), patience_seconds=0.5)) as gateway,
    ):

        def call() -> str:
            with pytest.raises(errors.Unavailable) as failure:
                gateway.get(NAMESPACES, "a")
            return failure.value.message

        plugin.hangs(then="second")
        started_at = time.monotonic()
        with ThreadPoolExecutor(8) as threads:
            said = [done.result() for done in [threads.submit(call) for _ in range(8)]]
        took = time.monotonic() - started_at
        plugin.release()
        once_it_can(lambda: gateway.get(NAMESPACES, "a"))

    assert all("timed out" in message for message in said)
    assert took < 5
    assert plugin.runs == 2


def test_a_provider_that_cannot_be_reached_is_no_foreign_error(connect: Connect, tmp_path: Path) -> None:
    answers = [reply(b"", code=503)]
    claims = base64.urlsafe_b64encode(json.dumps({"exp": 1}).encode()).decode().rstrip("=")
    provider = {"id-token": f"e30.{claims}.x", "refresh-token": "r", "client-id": "c", "client-secret": "s"}

    def script(request: Request) -> Iterator[bytes | Act]:
        if request.path.startswith("/.well-known"):
            yield answers.pop() if answers else Act.RESET
        else:
            yield status(401, "Unauthorized", "Unauthorized")

    with scripted(script) as server:
        config = {"name": "oidc", "config": {**provider, "idp-issuer-url": server.url}}
        path = kubeconfig(tmp_path, user={"auth-provider": config}, server=server.url)
        verbs = connect(load(path))
        with pytest.raises(errors.Unavailable, match="credentials"):
            verbs.get(NAMESPACES, "a")
        with pytest.raises(errors.Misconfigured):
            load(path)


class Lender:
    """Answers a question when the test says so, and goes by the test's clock."""

    def __init__(self) -> None:
        self.questions = 0
        self.may_answer = [threading.Event() for _ in range(3)]
        self.seconds = 0.0

    def __call__(self) -> Lent:
        self.questions += 1
        number = self.questions
        assert self.may_answer[number - 1].wait(20)
        return Lent(f"Bearer {number}", until=NOON + timedelta(hours=number))

    def answer(self, question: int) -> None:
        self.may_answer[question - 1].set()

    def lends(self, lent: Lent | None = None) -> Loaded:
        return Loaded(
            self,
            lent,
            patience_seconds=0.2,
            clock=lambda: self.seconds,
            now=lambda: NOON + timedelta(seconds=self.seconds),
        )


@pytest.fixture
def lender() -> Iterator[Lender]:
    lender = Lender()
    yield lender
    for number in (1, 2, 3):
        lender.answer(number)
    all_have_answered()


def all_have_answered() -> None:
    for thread in threading.enumerate():
        if thread.name == "credentials":
            thread.join(20)


def test_what_is_good_for_long_is_given_without_a_question(lender: Lender) -> None:
    assert lender.lends(Lent("Bearer x")).authorization() == "Bearer x"
    assert lender.lends(Lent("Bearer x", until=NOON + 2 * MARGIN)).authorization() == "Bearer x"
    assert lender.questions == 0


def test_what_ends_soon_is_given_while_the_next_is_asked_for(lender: Lender) -> None:
    credentials = lender.lends(Lent("Bearer old", until=NOON + MARGIN / 2))

    assert [credentials.authorization() for _ in range(3)] == ["Bearer old"] * 3
    lender.answer(1)
    all_have_answered()

    assert credentials.authorization() == "Bearer 1"
    assert lender.questions == 1


def test_what_has_ended_is_given_to_nobody(lender: Lender) -> None:
    credentials = lender.lends(Lent("Bearer old", until=NOON))

    with pytest.raises(errors.Unavailable):
        credentials.authorization()


def test_a_question_that_is_never_answered_is_asked_anew_and_its_late_answer_ignored(lender: Lender) -> None:
    credentials = lender.lends()
    for seconds in (0, GIVEN_UP_SECONDS - 1):
        lender.seconds = seconds
        with pytest.raises(errors.Unavailable):
            credentials.authorization()
    assert lender.questions == 1

    lender.seconds = GIVEN_UP_SECONDS
    lender.answer(2)
    assert credentials.authorization() == "Bearer 2"
    lender.answer(1)
    all_have_answered()

    assert credentials.authorization() == "Bearer 2"


def test_a_question_that_failed_is_asked_anew_after_a_pause() -> None:
    questions: list[float] = []
    seconds = 0.0

    def ask() -> Lent:
        questions.append(seconds)
        raise RuntimeError("a library's own")

    credentials = Loaded(ask, clock=lambda: seconds)
    for seconds in (0.0, PAUSE_SECONDS / 2, PAUSE_SECONDS):  # noqa: B007 - the clock reads it
        with pytest.raises(errors.Unavailable, match="a library's own"):
            credentials.authorization()

    assert questions == [0.0, PAUSE_SECONDS]


def test_a_refusal_of_what_was_replaced_meanwhile_costs_no_question(lender: Lender) -> None:
    credentials = lender.lends(Lent("Bearer old"))
    lender.answer(1)

    for _ in range(3):
        credentials.reload("Bearer old")
        assert credentials.authorization() == "Bearer 1"
        lender.seconds += PAUSE_SECONDS

    assert lender.questions == 1
