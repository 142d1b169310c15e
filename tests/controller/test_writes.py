"""What an answer to a write says about the object. Units go back to the market only when it is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller.fenced import FencedGateway
from controller.leader import Leadership, LeaseTimes
from controller.world import World
from controller.writes import Writes
from gpu.corekinds import ObjectMeta
from gpu.ledger import Ledger
from gpu.resources import GPUClaim, GPUClaimSpec, GPUClaimStatus
from kube.aio import AsyncGateway
from kube.config import ClusterConfig
from kube.errors import Conflict, KubeError, NotFound, NotServed
from kube.kinds import GPU_CLAIMS
from kube.watching import Event, EventType
from tests.kube.scripted import Request, reply, scripted, status

CLAIM = GPUClaim(
    metadata=ObjectMeta(name="train", namespace="t", uid="u1", resource_version="5"),
    spec=GPUClaimSpec(class_name="h100"),
    status=GPUClaimStatus(node_name="n1"),
)
STORED = {
    "metadata": {"name": "train", "namespace": "t", "uid": "u1", "resourceVersion": "9"},
    "spec": {"className": "h100"},
    "status": {"nodeName": "n1"},
}
GONE = status(404, "NotFound", 'gpuclaims.gpu.cozystack.io "train" not found', name="train", kind="gpuclaims")
NO_NAMESPACE = status(404, "NotFound", 'namespaces "t" not found', name="t", kind="namespaces")
NO_SUCH_PATH = status(404, "NotFound", "the server could not find the requested resource")
CHANGED = status(409, "Conflict", "the object has been modified")
OF_A_HOP = [
    pytest.param(reply(b"<html>404: no such site</html>", code=404), id="html"),
    pytest.param(reply(b"404 page not found\n", code=404), id="text"),
    pytest.param(reply(b"", code=404), id="nothing"),
    pytest.param(NO_SUCH_PATH, id="a status that names nothing"),
]


@asynccontextmanager
async def writing(
    *, written: bytes, read: bytes, seen: list[Request] | None = None
) -> AsyncIterator[tuple[Writes, World]]:
    """A leader that knows of the claim, and an API server that gives these answers about it."""
    asked = [] if seen is None else seen

    def script(request: Request) -> Iterable[bytes]:
        if "/gpuclaims" not in request.path:  # of the leader: nobody leads yet
            return [GONE if request.method == "GET" else reply(request.body)]
        asked.append(request)
        return [read if request.method == "GET" else written]

    def ignore(kind: Any, event: Any) -> None:
        """Nobody listens."""

    world = World(Ledger(), stale_seconds=10, on_event=ignore)
    world.see(GPU_CLAIMS, Event(EventType.ADDED, object=CLAIM, namespace="t", name="train"))
    with scripted(script) as server:
        async with AsyncGateway.connect(ClusterConfig(server=server.url)) as gateway:
            leadership = Leadership(gateway, namespace="system", identity="me", times=LeaseTimes())
            await leadership.acquire()
            yield Writes(FencedGateway(gateway, leadership), world), world


Change = Callable[[Writes], Awaitable[GPUClaim | None]]


async def _whole_status(writes: Writes) -> GPUClaim | None:
    return await writes.status(GPU_CLAIMS, CLAIM.metadata, CLAIM.status)


async def _part_of_status(writes: Writes) -> GPUClaim | None:
    return await writes.status_members(GPU_CLAIMS, CLAIM.metadata, {"nodeName": "n1"})


async def _finalizers(writes: Writes) -> GPUClaim | None:
    return await writes.metadata(GPU_CLAIMS, CLAIM.metadata, {"finalizers": []})


@pytest.fixture(params=[_whole_status, _part_of_status, _finalizers], ids=lambda change: change.__name__)
def change(request: pytest.FixtureRequest) -> Change:
    return request.param  # type: ignore[no-any-return]


async def test_a_claim_that_is_gone_gives_its_units_back(change: Change) -> None:
    async with writing(written=GONE, read=GONE) as (writes, world):
        assert await change(writes) is None

    assert world.claims == {}
    assert world.ledger.claims_on("n1") == ()


@pytest.mark.parametrize("answer", OF_A_HOP)
async def test_a_404_that_names_no_object_takes_nothing_from_a_living_claim(
    change: Change, answer: bytes
) -> None:
    async with writing(written=answer, read=answer) as (writes, world):
        with pytest.raises(NotServed):
            await change(writes)

    assert world.ledger.claims_on("n1") == (("t", "train"),)


@pytest.mark.parametrize("answer", OF_A_HOP)
async def test_nor_does_one_that_answers_the_look_after_a_conflict(change: Change, answer: bytes) -> None:
    async with writing(written=CHANGED, read=answer) as (writes, world):
        with pytest.raises(KubeError):
            await change(writes)

    assert world.ledger.claims_on("n1") == (("t", "train"),)


@pytest.mark.parametrize("answer", [NO_NAMESPACE, GONE], ids=["no namespace", "no such subresource"])
async def test_a_claim_that_can_be_read_keeps_its_units_whatever_a_write_does_not_find(
    change: Change, answer: bytes
) -> None:
    async with writing(written=answer, read=reply(STORED)) as (writes, world):
        with pytest.raises(NotFound):
            await change(writes)

    assert world.ledger.claims_on("n1") == (("t", "train"),)


async def test_a_claim_that_changed_meanwhile_is_known_as_it_is_when_the_conflict_is_told(
    change: Change,
) -> None:
    async with writing(written=CHANGED, read=reply(STORED)) as (writes, world):
        with pytest.raises(Conflict):
            await change(writes)

    assert world.claims["t", "train"].metadata.resource_version == "9"


async def test_what_was_decided_on_an_older_version_is_not_sent_again(change: Change) -> None:
    seen: list[Request] = []
    async with writing(written=CHANGED, read=reply(STORED), seen=seen) as (writes, _):
        with pytest.raises(Conflict):
            await change(writes)

    sent = [request.json["metadata"]["resourceVersion"] for request in seen if request.method != "GET"]
    assert sent == ["5"]


async def test_a_claim_that_was_deleted_between_two_changes_is_gone(change: Change) -> None:
    async with writing(written=CHANGED, read=GONE) as (writes, world):
        assert await change(writes) is None

    assert world.ledger.claims_on("n1") == ()
