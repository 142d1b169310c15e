from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kube.answers import read_page
from kube.kinds import NAMESPACES
from kube.picture import Event, EventType, Picture
from tests.kube.scripted import namespace

NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NAMES),
        st.tuples(st.just("spoil"), NAMES),
        st.tuples(st.just("delete"), NAMES),
        st.just(("lose", "")),
        st.just(("list", "")),
    ),
    max_size=40,
)


@dataclass
class World:
    """What the server has, and what a reader of the events believes that it has."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    believed: dict[str, str] = field(default_factory=dict)
    version: int = 0
    picture: Picture[Any] = field(default_factory=lambda: Picture(NAMESPACES))
    is_streaming: bool = False

    def change(self, what: str, name: str) -> None:
        """Let something happen on the server; the stream tells of it while there is one."""
        self.version += 1
        before = self.objects.get(name)
        if what == "delete":
            if before is None:
                return
            told, body = "DELETED", self.objects.pop(name)
        else:
            uid = before["metadata"]["uid"] if before else f"uid-{self.version}"
            told, body = (
                "MODIFIED" if before else "ADDED",
                namespace(name, version=str(self.version), uid=uid),
            )
            if what == "spoil":
                body["metadata"]["labels"] = {"x": 7}
            self.objects[name] = body
        if self.is_streaming:
            self.hear(self.picture.line(json.dumps({"type": told, "object": body}).encode()))

    def list(self) -> None:
        self.hear(self.listed())
        self.is_streaming = True

    def listed(self) -> Iterator[Event[Any]]:
        self.picture.start_list()
        page = {"metadata": {"resourceVersion": str(self.version)}, "items": [*self.objects.values()]}
        yield from self.picture.page(read_page(NAMESPACES, json.dumps(page).encode()))
        yield from self.picture.end_list(str(self.version))

    def hear(self, events: Any) -> None:
        event: Event[Any]
        for event in events:
            if event.type is EventType.DELETED:
                assert self.believed.pop(event.name) == event.uid, "a reader hears only of what it knows"
            elif event.type in (EventType.ADDED, EventType.MODIFIED):
                assert (event.name in self.believed) is (event.type is EventType.MODIFIED)
                assert self.believed.get(event.name, event.uid) == event.uid
                self.believed[event.name] = event.uid
            elif event.type is EventType.UNREADABLE:
                assert self.believed.get(event.name, event.uid) == event.uid
                self.believed[event.name] = event.uid


@given(STEPS)
def test_whatever_was_missed_a_list_makes_the_reader_believe_what_is_true(
    steps: list[tuple[str, str]],
) -> None:
    world = World()

    for what, name in [*steps, ("list", "")]:
        if what == "lose":
            world.is_streaming = False
        elif what == "list":
            world.list()
        else:
            world.change(what, name)
        if world.is_streaming:
            assert world.believed == {n: body["metadata"]["uid"] for n, body in world.objects.items()}


def told(world: World) -> list[tuple[str, str]]:
    return [(event.type.value, event.uid) for event in world.listed()]


def test_an_object_made_anew_unnoticed_is_told_as_two_though_the_new_one_is_spoilt() -> None:
    world = World()
    world.change("put", "a")
    world.list()
    world.objects = {"a": namespace("a", uid="another")}
    world.objects["a"]["metadata"]["labels"] = {"x": 7}

    assert told(world) == [("DELETED", "uid-1"), ("UNREADABLE", "another"), ("LISTED", "")]


def test_a_spoilt_object_without_a_uid_is_taken_for_the_one_that_is_known() -> None:
    world = World()
    world.change("put", "a")
    world.list()
    world.objects["a"] = {"metadata": {"name": "a", "labels": {"x": 7}}}
    assert told(world) == [("UNREADABLE", ""), ("LISTED", "")]

    world.objects["a"] = namespace("a", uid="uid-1")

    assert told(world) == [("MODIFIED", "uid-1"), ("LISTED", "")]


def test_an_object_whose_very_name_is_spoilt_is_taken_for_no_other() -> None:
    world = World()
    world.change("put", "a")
    world.list()
    world.objects = {"a": {"metadata": {"name": 7}}}

    world.list()

    assert set(world.believed) == {"a", ""}
