"""Both gateways behind one face, so that one test says of both what they have in common."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from kube.aio import AsyncGateway
from kube.config import ClusterConfig
from kube.gateway import Gateway


class Verbs:
    """Calls a gateway's verb and gives the answer, whether the verb is a function or a coroutine."""

    def __init__(self, gateway: Any, runner: asyncio.Runner | None) -> None:
        self._gateway = gateway
        self._runner = runner

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        method = getattr(self._gateway, verb)

        def call(*args: object, **kwargs: object) -> Any:
            answer = method(*args, **kwargs)
            return self._runner.run(answer) if self._runner and inspect.iscoroutine(answer) else answer

        return call

    def as_user(self, username: str, groups: Iterable[str]) -> Verbs:
        return Verbs(self._gateway.as_user(username, groups), self._runner)

    def with_token(self, token: str) -> Verbs:
        return Verbs(self._gateway.with_token(token), self._runner)


Connect = Callable[..., Verbs]


@pytest.fixture(params=["threads", "loop"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Connect a gateway of each sort; all are closed at the end of the test."""
    opened: list[Verbs] = []
    runner = asyncio.Runner() if request.param == "loop" else None

    def make(config: ClusterConfig | str, **options: Any) -> Verbs:
        config = ClusterConfig(server=config) if isinstance(config, str) else config
        kind: type[Gateway | AsyncGateway] = Gateway if runner is None else AsyncGateway
        opened.append(Verbs(kind.connect(config, **options), runner))
        return opened[-1]

    yield make
    for verbs in opened:
        verbs.close() if runner is None else verbs.aclose()
    if runner is not None:
        runner.close()
