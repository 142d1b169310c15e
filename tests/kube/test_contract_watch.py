"""Contract: watches."""

from __future__ import annotations

from kube.kinds import GPU_CLAIMS
from tests.kube.orders import a_claim
from tests.kube.wire import TABLE, Wire


def version_of(wire: Wire, namespace: str) -> str:
    version: str = wire.page(GPU_CLAIMS, namespace=namespace).json["metadata"]["resourceVersion"]
    return version


def path(namespace: str) -> str:
    return GPU_CLAIMS.path(namespace=namespace)


def label(wire: Wire, namespace: str, name: str, **labels: str | None) -> None:
    assert wire.patch(GPU_CLAIMS, name, {"metadata": {"labels": labels}}, namespace=namespace).code == 200


def test_a_watch_tells_every_change_after_its_resource_version(wire: Wire, namespace: str) -> None:
    wire.create(GPU_CLAIMS, a_claim("before"), namespace=namespace)
    start = version_of(wire, namespace)

    with wire.watch(path(namespace), resourceVersion=start) as events:
        wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
        label(wire, namespace, "one", a="b")
        wire.delete(GPU_CLAIMS, "one", namespace=namespace)
        told = [events.next() for _ in range(3)]

    assert [event["type"] for event in told] == ["ADDED", "MODIFIED", "DELETED"]
    assert all(event["object"]["metadata"]["name"] == "one" for event in told)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in told]
    assert int(start) < versions[0] < versions[1] < versions[2]
    assert told[2]["object"]["metadata"]["labels"] == {"a": "b"}


def test_a_watch_catches_up_with_what_happened_before_it_began(wire: Wire, namespace: str) -> None:
    start = version_of(wire, namespace)
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
    wire.delete(GPU_CLAIMS, "one", namespace=namespace)

    with wire.watch(path(namespace), resourceVersion=start) as events:
        assert [events.next_named() for _ in range(2)] == [("ADDED", "one"), ("DELETED", "one")]


def test_a_watch_without_a_resource_version_begins_with_what_is_there(wire: Wire, namespace: str) -> None:
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)

    for options in ({}, {"resourceVersion": "0"}):
        with wire.watch(path(namespace), **options) as events:
            assert events.next_named() == ("ADDED", "one")


def test_a_watch_hears_nothing_of_other_namespaces(wire: Wire, namespace: str, name: str) -> None:
    start = version_of(wire, namespace)

    with wire.watch(path(namespace), resourceVersion=start) as events:
        wire.create(GPU_CLAIMS, a_claim(name), namespace="default")
        wire.delete(GPU_CLAIMS, name, namespace="default")
        wire.create(GPU_CLAIMS, a_claim("mine"), namespace=namespace)
        assert events.next_named() == ("ADDED", "mine")


def test_an_object_enters_and_leaves_a_label_selector(wire: Wire, namespace: str) -> None:
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
    start = version_of(wire, namespace)

    with wire.watch(path(namespace), resourceVersion=start, labelSelector="team=red") as events:
        label(wire, namespace, "one", team="red")
        label(wire, namespace, "one", more="yes")
        label(wire, namespace, "one", team="blue")
        told = [events.next() for _ in range(3)]

    assert [event["type"] for event in told] == ["ADDED", "MODIFIED", "DELETED"]
    # What left is told as it was when it still belonged, under the resourceVersion at which it left.
    assert told[2]["object"]["metadata"]["labels"]["team"] == "red"
    assert told[2]["object"]["metadata"]["resourceVersion"] > told[1]["object"]["metadata"]["resourceVersion"]


def test_an_object_enters_a_field_selector_when_it_is_bound(wire: Wire, namespace: str) -> None:
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
    start = version_of(wire, namespace)

    with wire.watch(path(namespace), resourceVersion=start, fieldSelector="status.nodeName=n1") as events:
        bound = {"status": {"nodeName": "n1"}}
        wire.patch(GPU_CLAIMS, "one", bound, namespace=namespace, subresource="status")
        assert events.next_named() == ("ADDED", "one")


def test_a_watch_ends_at_its_timeout(wire: Wire, namespace: str) -> None:
    start = version_of(wire, namespace)

    with wire.watch(path(namespace), resourceVersion=start, timeoutSeconds="1") as events:
        assert [event for event in events if event["type"] != "BOOKMARK"] == []


def test_a_resource_version_from_too_long_ago_is_gone(wire: Wire, namespace: str) -> None:
    with wire.watch(path(namespace), resourceVersion="1") as events:
        assert events.code == 200
        event = events.next()

    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 410
    assert event["object"]["reason"] == "Expired"


def test_a_list_can_be_streamed_and_its_end_is_marked(wire: Wire, namespace: str) -> None:
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)
    options = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }

    with wire.watch(path(namespace), **options) as events:
        first, second = events.next(), events.next()

    assert first["type"] == "ADDED"
    assert second["type"] == "BOOKMARK"
    assert second["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_watch_can_be_read_as_table_rows(wire: Wire, namespace: str) -> None:
    wire.create(GPU_CLAIMS, a_claim("one"), namespace=namespace)

    with wire.watch(path(namespace), accept=TABLE) as events:
        event = events.next()

    assert event["object"]["kind"] == "Table"
    assert event["object"]["rows"][0]["cells"][0] == "one"


def test_a_refused_write_is_told_to_nobody(wire: Wire, namespace: str) -> None:
    start = version_of(wire, namespace)

    with wire.watch(path(namespace), resourceVersion=start) as events:
        wire.create(GPU_CLAIMS, a_claim("bad", count=0), namespace=namespace)
        wire.create(GPU_CLAIMS, a_claim("dry"), namespace=namespace, dryRun="All")
        wire.create(GPU_CLAIMS, a_claim("good"), namespace=namespace)
        assert events.next_named() == ("ADDED", "good")
