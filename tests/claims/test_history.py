from __future__ import annotations

from datetime import timedelta

import pytest

from claims.history import events_between, record_changes, record_ordered, record_refused, record_released
from claims.models import EventKind, OrderEvent
from claims.orders import OrderSpec
from gpu.fit import Reason, Refusal
from gpu.resources import Condition, ConditionStatus, GPUClaim
from kube.kinds import GPU_CLAIMS
from portal.mirror import Change
from tests.builders import NOON, a_claim, refusal_of

LATER = NOON + timedelta(minutes=5)


def kinds(old: GPUClaim | None, new: GPUClaim | None) -> list[str]:
    return [event.kind for event in events_between(old, new, now=LATER)]


def waiting(reason: str = "NodeGone") -> Condition:
    return Condition(
        type="Bound",
        status=ConditionStatus.FALSE,
        reason=reason,
        message="n1 is gone",
        last_transition_time=NOON,
    )


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, a_claim(), ["ordered"]),
        (None, a_claim(node="n1", attached_to="vm"), ["ordered", "bound", "attached"]),
        (a_claim(), a_claim(node="n1"), ["bound"]),
        (a_claim(node="n1"), a_claim(node="n1"), []),
        (a_claim(node="n1"), a_claim(node="n2"), ["moved"]),
        (a_claim(node="n1"), a_claim(conditions=[waiting()]), ["waiting"]),
        (a_claim(conditions=[waiting()]), a_claim(conditions=[waiting("NoCapacity")]), []),
        (a_claim(conditions=[waiting()]), a_claim(node="n2"), ["bound"]),
        (a_claim(node="n1"), a_claim(node="n1", attached_to="vm"), ["attached"]),
        (a_claim(node="n1", attached_to="vm"), a_claim(node="n1"), ["detached"]),
        (a_claim(node="n1", attached_to="a"), a_claim(node="n1", attached_to="b"), ["detached", "attached"]),
        (
            a_claim(node="n1"),
            a_claim(node="n2", refused=[refusal_of("n1", until=LATER)]),
            ["refused_by_node", "moved"],
        ),
        (a_claim(node="n1"), a_claim(node="n1", releasing=True), ["released"]),
        (a_claim(node="n1", releasing=True), None, []),
        (a_claim(node="n1"), None, ["released"]),
        (a_claim(uid="first"), a_claim(uid="second"), ["released", "ordered"]),
    ],
)
def test_what_happened_follows_from_two_states(
    old: GPUClaim | None, new: GPUClaim | None, want: list[str]
) -> None:
    assert kinds(old, new) == want


def test_events_happen_when_the_objects_say_they_did() -> None:
    ordered, bound = events_between(None, a_claim(node="n1"), now=LATER)

    assert (ordered.at, bound.at, bound.node_name) == (NOON, NOON, "n1")


def test_nothing_happens_to_a_claim_before_it_was_ordered_though_clocks_differ() -> None:
    claim = a_claim(node="n1")
    claim.status.bound_at = NOON - timedelta(seconds=3)

    assert [(event.kind, event.at) for event in events_between(None, claim, now=LATER)] == [
        ("ordered", NOON),
        ("bound", NOON),
    ]


@pytest.mark.django_db
def test_a_change_that_is_seen_twice_is_written_once() -> None:
    change = Change(GPU_CLAIMS, "tenant-acme", "one", None, a_claim(node="n1"), LATER)

    record_changes([change])
    record_changes([change])

    assert sorted(OrderEvent.objects.values_list("kind", flat=True)) == ["bound", "ordered"]


@pytest.mark.django_db
@pytest.mark.parametrize("mirror_first", [True, False])
def test_the_one_who_knows_the_person_wins(mirror_first: bool) -> None:
    claim = a_claim()
    change = Change(GPU_CLAIMS, "tenant-acme", "one", None, claim, LATER)

    if mirror_first:
        record_changes([change])
    record_ordered(claim, username="alice", now=LATER)
    record_changes([change])

    event = OrderEvent.objects.get()
    assert (event.kind, event.username) == (EventKind.ORDERED, "alice")


@pytest.mark.django_db
def test_the_first_to_release_stays_in_the_history() -> None:
    record_released(a_claim(), username="alice", now=NOON)
    record_released(a_claim(), username="bob", now=LATER)

    assert OrderEvent.objects.get().username == "alice"


@pytest.mark.django_db
def test_every_refusal_is_kept_with_its_numbers() -> None:
    spec = OrderSpec(namespace="tenant-acme", class_name="l40s", count=6, name="six")
    refusal = Refusal(Reason.NO_NODE_FITS, {"asked": 6, "free": 8, "maxFreePerNode": 4})

    record_refused(spec, [refusal], username="alice", now=NOON)
    record_refused(spec, [refusal], username="alice", now=LATER)

    first, second = OrderEvent.objects.newest_first()
    assert first.at == LATER
    assert second.data == {
        "refusals": [{"reason": "NoNodeFits", "numbers": {"asked": 6, "free": 8, "maxFreePerNode": 4}}]
    }


@pytest.mark.django_db
def test_the_timeline_of_a_claim_is_its_own_and_the_refusals_under_its_name() -> None:
    record_changes([Change(GPU_CLAIMS, "tenant-acme", "one", None, a_claim(uid="old"), NOON)])
    record_changes([Change(GPU_CLAIMS, "tenant-acme", "one", None, a_claim(uid="new", node="n1"), NOON)])
    record_refused(
        OrderSpec(namespace="tenant-acme", class_name="l40s", name="one"),
        [Refusal(Reason.CLASS_NOT_FOUND)],
        username="alice",
        now=NOON - timedelta(minutes=1),
    )

    timeline = OrderEvent.objects.of_claim("tenant-acme", "one", "new")

    assert [event.kind for event in timeline] == ["refused", "ordered", "bound"]
