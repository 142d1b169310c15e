from __future__ import annotations

from typing import Any

import pytest

from controller.world import WATCHED, World, is_older
from gpu.corekinds import ObjectMeta
from gpu.ledger import Ledger
from gpu.resources import GPUClaim, GPUClaimSpec, GPUClaimStatus
from kube.kinds import GPU_CLAIMS, NODES, AnyKind
from kube.watching import Event, EventType


class Told:
    """Who was told what."""

    def __init__(self) -> None:
        self.events: list[tuple[str, EventType]] = []

    def __call__(self, kind: AnyKind, event: Event[Any]) -> None:
        self.events.append((kind.plural, event.type))


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def a_claim(
    version: str, *, node: str | None = None, uid: str = "u1", set_name: str | None = None
) -> GPUClaim:
    return GPUClaim(
        metadata=ObjectMeta(name="train", namespace="t", uid=uid, resource_version=version),
        spec=GPUClaimSpec(class_name="h100", set_name=set_name),
        status=GPUClaimStatus(node_name=node),
    )


def seen(claim: GPUClaim, type_: EventType = EventType.MODIFIED) -> Event[GPUClaim]:
    return Event(type_, object=claim, namespace="t", name="train")


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def world(told: Told) -> World:
    return World(Ledger(), stale_seconds=10, on_event=told, clock=Clock())


@pytest.mark.parametrize(
    ("version", "other", "want"),
    [("9", "10", True), ("10", "9", False), ("10", "10", False), ("x", "10", False)],
)
def test_versions_are_compared_as_numbers(version: str, other: str, want: bool) -> None:
    assert is_older(a_claim(version).metadata, a_claim(other).metadata) is want


def test_versions_of_different_objects_are_not_compared() -> None:
    assert not is_older(a_claim("9", uid="new").metadata, a_claim("10", uid="old").metadata)


def test_the_echo_of_an_own_write_and_what_is_older_are_ignored(world: World, told: Told) -> None:
    world.see(GPU_CLAIMS, seen(a_claim("5"), EventType.ADDED))
    world.wrote(GPU_CLAIMS, a_claim("7", node="n1"))
    told.events.clear()

    world.see(GPU_CLAIMS, seen(a_claim("7", node="n1")))
    world.see(GPU_CLAIMS, seen(a_claim("6")))

    assert told.events == []
    assert world.claims["t", "train"].status.node_name == "n1"


@pytest.mark.parametrize("later", [None, "u2"], ids=["gone", "made again"])
def test_a_late_answer_does_not_bring_a_claim_back(world: World, later: str | None) -> None:
    world.see(GPU_CLAIMS, seen(a_claim("5"), EventType.ADDED))
    world.see(GPU_CLAIMS, Event(EventType.DELETED, namespace="t", name="train"))
    if later:
        world.see(GPU_CLAIMS, seen(a_claim("9", uid=later), EventType.ADDED))

    world.wrote(GPU_CLAIMS, a_claim("7", node="n1"))

    assert world.ledger.claims_on("n1") == ()
    assert [claim.metadata.uid for claim in world.claims.values()] == ([later] if later else [])


def test_a_claim_made_again_under_its_name_is_another_one(world: World) -> None:
    world.see(GPU_CLAIMS, seen(a_claim("5", node="n1", set_name="vm"), EventType.ADDED))

    world.see(GPU_CLAIMS, seen(a_claim("9", uid="u2")))

    assert world.ledger.claims_on("n1") == ()
    assert world.set_of(a_claim("9", set_name="vm"))[0].metadata.resource_version == "9"


def test_the_picture_is_complete_once_every_kind_was_listed(world: World) -> None:
    for kind in WATCHED:
        assert world.unknown_for() == 0
        assert kind.plural in world.missing()
        world.see(kind, Event(EventType.LISTED))

    assert world.is_complete
    assert world.unknown_for() is None


def test_a_watch_that_stays_broken_makes_the_picture_stale_with_its_age() -> None:
    clock = Clock()
    world = World(Ledger(), stale_seconds=10, on_event=Told(), clock=clock)
    for kind in WATCHED:
        world.see(kind, Event(EventType.LISTED))
    world.see(NODES, Event(EventType.DISCONNECTED))

    clock.seconds = 9
    assert world.unknown_for() is None
    clock.seconds = 12
    assert world.unknown_for() == 12

    world.see(NODES, Event(EventType.LISTED))
    assert world.unknown_for() is None


@pytest.mark.parametrize(
    ("known", "left"), [("u1", []), ("u2", ["u2"])], ids=["the same", "made again under its name"]
)
def test_word_that_a_claim_is_gone_is_about_that_claim_only(
    world: World, known: str, left: list[str]
) -> None:
    world.see(GPU_CLAIMS, seen(a_claim("9", uid=known, node="n1"), EventType.ADDED))

    world.is_gone(GPU_CLAIMS, a_claim("5", uid="u1").metadata)

    assert [claim.metadata.uid for claim in world.claims.values()] == left
    assert len(world.ledger.claims_on("n1")) == len(left)
