from __future__ import annotations

from datetime import timedelta

import pytest

from gpu.conditions import (
    BoundReason,
    ConditionType,
    Phase,
    ServedReason,
    condition_of,
    phase,
    served_reason,
    set_condition,
)
from gpu.eligibility import NodeReason
from gpu.resources import Condition, ConditionStatus, GPUClaim
from tests.builders import NOON, a_claim

LATER = NOON + timedelta(hours=1)


def _bound(
    conditions: list[Condition], *, status: ConditionStatus = ConditionStatus.TRUE, message: str = ""
) -> tuple[list[Condition], bool]:
    return set_condition(
        conditions,
        type=ConditionType.BOUND,
        status=status,
        reason=BoundReason.ALLOCATED,
        message=message,
        now=LATER,
        generation=1,
    )


def test_a_new_condition_is_added() -> None:
    conditions, changed = _bound([])

    assert changed
    assert conditions[0].last_transition_time == LATER


def test_the_same_again_changes_nothing() -> None:
    first, _ = _bound([])

    again, changed = set_condition(
        first,
        type="Bound",
        status=ConditionStatus.TRUE,
        reason="Allocated",
        message="",
        now=NOON,
        generation=1,
    )

    assert not changed
    assert again == first


def test_the_transition_time_moves_only_with_the_status() -> None:
    first = [
        Condition(
            type="Bound",
            status=ConditionStatus.TRUE,
            reason="Allocated",
            message="",
            last_transition_time=NOON,
        )
    ]

    reworded, changed = _bound(first, message="On a node.")
    turned, _ = _bound(first, status=ConditionStatus.FALSE)

    assert changed
    assert reworded[0].last_transition_time == NOON
    assert turned[0].last_transition_time == LATER


def test_other_conditions_stay_as_they_are() -> None:
    other = Condition(
        type="Healthy", status=ConditionStatus.TRUE, reason="Healthy", message="", last_transition_time=NOON
    )

    conditions, _ = _bound([other])

    assert condition_of(conditions, "Healthy") is other
    assert condition_of(conditions, "Attached") is None


@pytest.mark.parametrize(
    ("claim", "named"),
    [
        (a_claim(), Phase.WAITING),
        (a_claim(node="n1"), Phase.HELD),
        (a_claim(node="n1", attached_to="vm"), Phase.IN_USE),
        (a_claim(node="n1", attached_to="vm", releasing=True), Phase.RELEASING),
        (a_claim(releasing=True), Phase.RELEASING),
    ],
)
def test_the_phase_names_what_the_claim_is_doing(claim: GPUClaim, named: Phase) -> None:
    assert phase(claim) is named


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, ServedReason.NO_NODE_MATCHES),
        ({NodeReason.SELECTOR_MISMATCH: 9}, ServedReason.NO_NODE_MATCHES),
        (
            {NodeReason.SELECTOR_MISMATCH: 9, NodeReason.RESOURCE_NOT_ADVERTISED: 1},
            ServedReason.RESOURCE_NOT_ADVERTISED,
        ),
        ({NodeReason.RESOURCE_NOT_ADVERTISED: 9, NodeReason.NODE_CORDONED: 1}, ServedReason.NO_NODE_READY),
        ({NodeReason.NODE_NOT_READY: 9, NodeReason.TAINT_NOT_TOLERATED: 1}, ServedReason.TAINT_NOT_TOLERATED),
    ],
)
def test_a_class_nobody_serves_names_what_stops_the_nearest_node(
    counts: dict[NodeReason, int], said: ServedReason
) -> None:
    assert served_reason(counts) is said
