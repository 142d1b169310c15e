from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from kube import config, errors
from kube.aio import AsyncGateway
from kube.backoff import Backoff
from kube.calls import PatchType
from kube.config import ClusterConfig
from kube.credentials import TokenFile
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NAMESPACES
from kube.watching import Event, EventType, watch
from tests.kube.scripted import CHUNKED, STALL, Act, Request, listed, namespace, reply, scripted, status, told
from tests.kube.servers import RunningServer
from tests.kube.verbs import Connect, connect

__all__ = ["connect"]


@pytest.fixture
async def admin(dev_server: RunningServer) -> AsyncIterator[AsyncGateway]:
    async with AsyncGateway.connect(config.load(dev_server.kubeconfig)) as gateway:
        yield gateway


async def test_streams_that_live_for_ever_never_keep_a_write_waiting() -> None:
    def script(request: Request) -> Iterator[bytes | Act]:
        if "watch" in request.query:
            yield CHUNKED
            yield STALL
        yield reply(request.body or listed().split(b"\r\n\r\n")[1])

    async def follow(gateway: AsyncGateway) -> None:
        async with aclosing(watch(gateway, NAMESPACES)) as events:
            async for _ in events:
                pass

    with scripted(script) as server:
        async with AsyncGateway.connect(ClusterConfig(server=server.url), pool_size=1) as gateway:
            watches = [asyncio.ensure_future(follow(gateway)) for _ in range(10)]
            await asyncio.to_thread(server.wait_for, requests=20)
            await gateway.create(NAMESPACES, namespace("a"))
            for task in watches:
                task.cancel()
            await asyncio.gather(*watches, return_exceptions=True)


async def test_many_calls_at_once_share_the_few_connections_there_are() -> None:
    with scripted(lambda request: [reply(namespace("a"))]) as server:
        async with AsyncGateway.connect(ClusterConfig(server=server.url), pool_size=3) as gateway:
            await asyncio.gather(*(gateway.get(NAMESPACES, f"n{index}") for index in range(50)))

    assert len(server.requests) == 50
    assert server.connections <= 3


async def test_a_call_that_is_cancelled_leaves_the_gateway_usable() -> None:
    def script(request: Request) -> Iterator[bytes | Act]:
        if request.path.endswith("/slow"):
            yield STALL
        yield reply(namespace("a"))

    with scripted(script) as server:
        async with AsyncGateway.connect(ClusterConfig(server=server.url), pool_size=1) as gateway:
            slow = asyncio.ensure_future(gateway.get(NAMESPACES, "slow"))
            await asyncio.to_thread(server.wait_for, requests=1)
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            assert (await gateway.get(NAMESPACES, "a")).object.metadata.name == "a"


async def test_pages_that_nobody_wants_any_more_are_not_waited_for() -> None:
    def script(request: Request) -> Iterator[bytes | Act]:
        if "continue" in request.query:
            yield STALL
        yield listed(namespace("a"), continue_="next")

    with scripted(script) as server:
        async with (
            AsyncGateway.connect(ClusterConfig(server=server.url)) as gateway,
            aclosing(gateway.pages(NAMESPACES)) as pages,
        ):
            assert [item.object.metadata.name for item in (await anext(pages)).items] == ["a"]


async def test_a_stream_is_opened_again_with_a_newer_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    def script(request: Request) -> Iterator[bytes | Act]:
        if "watch" not in request.query:
            yield listed()
        elif request.one("Authorization") == "Bearer old":
            token.write_text("newer")
            yield status(401, "Unauthorized", "Unauthorized")
        else:
            yield CHUNKED
            yield told("ADDED", namespace("a"))
            yield STALL

    with scripted(script) as server:
        cluster = ClusterConfig(server=server.url, credentials=TokenFile(token))
        async with AsyncGateway.connect(cluster) as gateway, aclosing(watch(gateway, NAMESPACES)) as events:
            got = [(await anext(events)).type for _ in range(2)]

    assert got == [EventType.LISTED, EventType.ADDED]


def a_class(name: str) -> dict[str, Any]:
    source = {"devicePlugin": {"resourceName": "nvidia.com/L40S"}}
    return {
        "metadata": {"name": name},
        "spec": {"vendor": "NVIDIA", "model": "L40S", "mode": "passthrough", "source": source},
    }


def test_an_object_lives_its_whole_life_on_a_server(connect: Connect, dev_server: RunningServer) -> None:
    verbs = connect(config.load(dev_server.kubeconfig))

    created = verbs.create(GPU_CLASSES, a_class("whole-life"))
    assert verbs.get(GPU_CLASSES, "whole-life").object == created.object
    with pytest.raises(errors.AlreadyExists):
        verbs.create(GPU_CLASSES, a_class("whole-life"))

    patch = {"metadata": {"resourceVersion": created.object.metadata.resource_version}, "status": {"free": 3}}
    patched = verbs.patch(GPU_CLASSES, "whole-life", patch, subresource="status")
    assert patched.object.status.free == 3
    with pytest.raises(errors.Conflict):
        verbs.patch(GPU_CLASSES, "whole-life", patch, subresource="status")

    operations = [{"op": "add", "path": "/spec/maxCount", "value": 4}]
    counted = verbs.patch(GPU_CLASSES, "whole-life", operations, patch_type=PatchType.JSON)
    assert counted.object.spec.max_count == 4
    removed = verbs.patch(GPU_CLASSES, "whole-life", {"spec": {"maxCount": None}})
    assert b"maxCount" not in removed.raw.partition(b'"managedFields"')[0]

    metadata = removed.object.metadata
    with pytest.raises(errors.Conflict):
        verbs.delete(GPU_CLASSES, "whole-life", uid="another")
    verbs.delete(GPU_CLASSES, "whole-life", uid=metadata.uid, dry_run=True)
    assert verbs.get(GPU_CLASSES, "whole-life").object.metadata.uid == metadata.uid
    assert verbs.delete(GPU_CLASSES, "whole-life", uid=metadata.uid) is None
    with pytest.raises(errors.NotFound):
        verbs.get(GPU_CLASSES, "whole-life")


def test_a_server_names_what_is_wrong_with_a_body(connect: Connect, dev_server: RunningServer) -> None:
    verbs = connect(config.load(dev_server.kubeconfig))
    misspelt = a_class("bad")
    misspelt["spec"]["nodeSelektor"] = {}
    broken = a_class("bad")
    broken["spec"]["maxCount"] = 0

    with pytest.raises(errors.BadRequest, match="nodeSelektor"):
        verbs.create(GPU_CLASSES, misspelt)
    with pytest.raises(errors.Invalid) as failure:
        verbs.create(GPU_CLASSES, broken, dry_run=True)

    assert [cause.field for cause in failure.value.causes] == ["spec.maxCount"]


def test_a_user_without_rights_is_forbidden_where_the_service_is_not(
    connect: Connect, dev_server: RunningServer
) -> None:
    verbs = connect(config.load(dev_server.kubeconfig))

    with pytest.raises(errors.Forbidden):
        verbs.as_user("charlie", ["some-group"]).delete(GPU_CLASSES, "any")
    assert verbs.as_user("root", ["one", "system:masters"]).list(GPU_CLASSES) is not None


def test_a_token_that_nobody_has_is_unauthorized(connect: Connect, dev_server: RunningServer) -> None:
    with pytest.raises(errors.Unauthorized):
        connect(config.load(dev_server.kubeconfig)).with_token("forged").list(GPU_CLASSES)


async def heard(events: AsyncIterator[Event[Any]], wanted: EventType, name: str = "") -> Event[Any]:
    async for event in events:
        if event.type is wanted and event.name == name:
            return event
    raise AssertionError("a watch never ends")


async def test_a_watch_follows_a_server_over_its_death(own_dev_server: RunningServer) -> None:
    cluster = config.load(own_dev_server.kubeconfig)
    soon = Backoff(first_seconds=0.05, longest_seconds=0.05)

    async with AsyncGateway.connect(cluster) as gateway:
        await gateway.create(NAMESPACES, {"metadata": {"name": "before"}})
        async with aclosing(watch(gateway, NAMESPACES, backoff=soon)) as events:
            await heard(events, EventType.ADDED, "before")
            await heard(events, EventType.LISTED)

            await asyncio.to_thread(own_dev_server.kill)
            lost = await heard(events, EventType.DISCONNECTED)
            await asyncio.to_thread(own_dev_server.start)
            await heard(events, EventType.MODIFIED, "before")
            await heard(events, EventType.LISTED)
            await gateway.create(NAMESPACES, {"metadata": {"name": "after"}})
            after = await heard(events, EventType.ADDED, "after")

    assert isinstance(lost.error, errors.Unavailable)
    assert after.object is not None


async def test_a_watch_of_a_field_tells_of_what_enters_and_leaves(admin: AsyncGateway) -> None:
    await admin.create(NAMESPACES, {"metadata": {"name": "field-watch"}})
    claim = {"metadata": {"name": "a"}, "spec": {"className": "l40s"}}

    async with aclosing(
        watch(admin, GPU_CLAIMS, namespace="field-watch", field_selector="status.nodeName=n1")
    ) as events:
        await heard(events, EventType.LISTED)
        await admin.create(GPU_CLAIMS, claim, namespace="field-watch")
        for node, told_as in (("n1", EventType.ADDED), ("n2", EventType.DELETED)):
            patch = {"status": {"nodeName": node}}
            await admin.patch(GPU_CLAIMS, "a", patch, namespace="field-watch", subresource="status")
            await heard(events, told_as, "a")
