from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from claims.models import OrderEvent
from claims.orders import ORDER_KEY_ANNOTATION, NameTaken, OrderSpec, Placed
from claims.services import place_order, release
from gpu.resources import RELEASE_FINALIZER
from kube.errors import Conflict, Forbidden, Unavailable
from kube.kinds import GPU_CLAIMS
from portal.models import ClaimRecord
from tests.builders import a_claim
from tests.fixtures.live import Live
from tests.fixtures.on_disk import at_once, on_disk

SPEC = OrderSpec(namespace="tenant-acme", class_name="l40s", count=2, name="two", order_key="key-1")


def order(live: Live, spec: OrderSpec = SPEC, *, who: str = "alice", dry_run: bool = False) -> Placed:
    access, gateway = live.acting(who)
    return place_order(access=access, gateway=gateway, spec=spec, dry_run=dry_run)


def events() -> list[tuple[str, str]]:
    return list(OrderEvent.objects.order_by("id").values_list("kind", "username"))


def test_an_order_becomes_a_claim_in_cluster_mirror_and_history(live: Live) -> None:
    placed = order(live)

    (claim,) = live.claims()
    assert placed.is_new
    assert (claim.spec.class_name, claim.spec.count) == ("l40s", 2)
    assert claim.metadata.annotations[ORDER_KEY_ANNOTATION] == "key-1"
    assert ClaimRecord.objects.get().uid == placed.claim.metadata.uid
    assert events() == [("ordered", "alice")]


def test_the_same_order_sent_again_is_the_same_claim(live: Live) -> None:
    first = order(live)
    again = order(live)

    assert not again.is_new
    assert again.claim.metadata.uid == first.claim.metadata.uid
    assert len(live.claims()) == 1
    assert events() == [("ordered", "alice")]


def test_the_same_order_sent_again_is_found_though_the_mirror_knows_nothing(live: Live) -> None:
    first = order(live)
    ClaimRecord.objects.all().delete()

    assert order(live).claim.metadata.uid == first.claim.metadata.uid


@pytest.mark.django_db(transaction=True)
def test_a_double_click_makes_one_claim(live: Live, tmp_path: Path) -> None:
    access, gateway = live.acting("alice")

    with on_disk(tmp_path):
        click = partial(place_order, access=access, gateway=gateway, spec=SPEC)
        placed = at_once([click] * 8)
        history = events()

    assert len({one.claim.metadata.uid for one in placed}) == 1
    assert sum(one.is_new for one in placed) == 1
    assert len(live.claims()) == 1
    assert history == [("ordered", "alice")]


def test_a_key_alone_makes_a_name_that_a_retry_meets(live: Live) -> None:
    first = order(live, replace(SPEC, name=""))
    again = order(live, replace(SPEC, name=""))
    other = order(live, replace(SPEC, name="", order_key="key-2"))

    assert first.claim.metadata.name == again.claim.metadata.name
    assert first.claim.metadata.name.startswith("l40s-")
    assert other.claim.metadata.name != first.claim.metadata.name


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, order_key="key-2"),
        replace(SPEC, order_key=""),
        replace(SPEC, count=3),
        replace(SPEC, class_name="h100"),
        replace(SPEC, set_name="pair"),
    ],
)
def test_another_order_cannot_have_the_name(live: Live, other: OrderSpec) -> None:
    order(live)

    with pytest.raises(NameTaken):
        order(live, other)

    assert len(live.claims()) == 1


def test_a_dry_run_leaves_nothing_behind(live: Live) -> None:
    placed = order(live, dry_run=True)

    assert placed.claim.metadata.name == "two"
    assert live.claims() == []
    assert (ClaimRecord.objects.count(), events()) == (0, [])


def test_a_viewer_cannot_order(live: Live) -> None:
    with pytest.raises(Forbidden):
        order(live, who="bob")


def test_an_order_is_placed_after_the_cluster_came_back(live: Live) -> None:
    live.server.stop()
    try:
        with pytest.raises(Unavailable):
            order(live)
    finally:
        live.server.start()

    assert order(live).is_new
    assert events() == [("ordered", "alice")]


def let_go(live: Live, uid: str | None, *, who: str = "alice", resource_version: str | None = None) -> bool:
    """Release ``two``; say whether it is gone."""
    access, gateway = live.acting(who)
    released = release(
        access=access,
        gateway=gateway,
        namespace="tenant-acme",
        name="two",
        uid=uid,
        resource_version=resource_version,
    )
    return released.claim is None


def test_an_unattached_hold_is_gone_at_once(live: Live) -> None:
    uid = order(live).claim.metadata.uid

    assert let_go(live, uid)

    assert live.claims() == []
    assert ClaimRecord.objects.count() == 0
    assert events() == [("ordered", "alice"), ("released", "alice")]


def test_releasing_twice_is_fine_and_told_once(live: Live) -> None:
    uid = order(live).claim.metadata.uid

    assert let_go(live, uid)
    assert let_go(live, uid)

    assert events() == [("ordered", "alice"), ("released", "alice")]


def test_an_attached_hold_stays_until_its_vm_is_off(live: Live) -> None:
    live.put(a_claim("two", node="n1", attached_to="vm"))
    live.patch(a_claim("two"), {"metadata": {"finalizers": [RELEASE_FINALIZER]}})
    live.sync()
    uid = live.claims()[0].metadata.uid

    assert not let_go(live, uid)
    assert not let_go(live, uid)

    assert ClaimRecord.objects.get().phase == "Releasing"
    assert events()[-1] == ("released", "alice")
    live.patch(a_claim("two"), {"metadata": {"finalizers": None}})


def test_a_claim_ordered_since_under_the_same_name_is_left_alone(live: Live) -> None:
    old = order(live).claim.metadata.uid
    let_go(live, old)
    new = order(live).claim.metadata.uid

    assert let_go(live, old)

    assert [claim.metadata.uid for claim in live.claims()] == [new]


def test_a_missing_class_or_node_does_not_block_a_release(live: Live) -> None:
    live.put(a_claim("two", of="no-such-class", node="no-such-node"))
    live.sync()

    assert let_go(live, None)
    assert live.claims() == []


def test_a_release_can_be_bound_to_the_version_that_was_seen(live: Live) -> None:
    claim = order(live).claim
    live.patch(a_claim("two"), {"metadata": {"labels": {"a": "b"}}})

    with pytest.raises(Conflict):
        let_go(live, claim.metadata.uid, resource_version=claim.metadata.resource_version)

    assert len(live.claims()) == 1


def test_a_release_by_kubectl_is_in_the_history_too(live: Live) -> None:
    order(live)
    live.gateway.delete(GPU_CLAIMS, "two", namespace="tenant-acme")

    live.sync()

    assert events() == [("ordered", "alice"), ("released", "")]
