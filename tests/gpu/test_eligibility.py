from __future__ import annotations

import pytest

from gpu.corekinds import Taint
from gpu.eligibility import NodeReason, matches_selector, serves, tolerates
from gpu.resources import Effect, Operator, Toleration
from tests.builders import L40S, a_class, a_node

A1 = Taint(key="a", value="1", effect="NoSchedule")
BARE = Taint(key="a", effect="NoSchedule")
EXISTS, EQUAL = Operator.EXISTS, Operator.EQUAL


@pytest.mark.parametrize(
    ("toleration", "taint", "covered"),
    [
        (Toleration(key="a", operator=EXISTS), A1, True),
        (Toleration(key="a", operator=EQUAL, value="1"), A1, True),
        (Toleration(key="a", value="1"), A1, True),
        (Toleration(key="a"), A1, False),
        (Toleration(key="a"), BARE, True),
        (Toleration(key="a", operator=EQUAL, value=""), BARE, True),
        (Toleration(key="a", value="true"), BARE, False),
        (Toleration(key="a", value="1", effect=Effect.NO_EXECUTE), A1, False),
        (Toleration(key="a", operator=EXISTS, effect=Effect.NO_SCHEDULE), A1, True),
        (Toleration(operator=EXISTS), A1, True),
        (Toleration(operator=EXISTS, effect=Effect.NO_EXECUTE), A1, False),
        (Toleration(key="A", operator=EXISTS), A1, False),
        (Toleration(key="a", operator=EXISTS, toleration_seconds=0), A1, True),
        (Toleration(value="1"), A1, False),
    ],
)
def test_a_toleration_covers_a_taint_by_kubernetes_rules(
    toleration: Toleration, taint: Taint, covered: bool
) -> None:
    assert tolerates([toleration], taint) is covered


def test_two_taints_need_two_tolerations() -> None:
    tolerant = a_class(tolerations=[Toleration(key="a", operator=EXISTS)])
    node = a_node(taints=[A1, Taint(key="b", effect="NoExecute")])

    eligibility = serves(tolerant, node)

    assert eligibility.reasons == (NodeReason.TAINT_NOT_TOLERATED,)
    assert eligibility.obstacles[0].detail == "b:NoExecute"


def test_prefer_no_schedule_never_excludes() -> None:
    assert serves(a_class(), a_node(taints=[Taint(key="a", effect="PreferNoSchedule")])).serves


def test_a_cordoned_node_serves_nobody_whatever_the_class_tolerates() -> None:
    everything = a_class(tolerations=[Toleration(operator=EXISTS)])

    assert serves(everything, a_node(cordoned=True)).reasons == (NodeReason.NODE_CORDONED,)


@pytest.mark.parametrize("ready", [None, "Unknown", "False"])
def test_a_node_that_is_not_known_to_be_ready_does_not_serve(ready: str | None) -> None:
    assert serves(a_class(), a_node(ready=ready)).reasons == (NodeReason.NODE_NOT_READY,)


def test_the_schedulable_label_is_needed_unless_switched_off() -> None:
    node = a_node(schedulable=False)

    assert serves(a_class(), node).reasons == (NodeReason.NOT_SCHEDULABLE,)
    assert serves(a_class(), node, require_schedulable_label=False).serves


def test_a_node_that_is_being_deleted_does_not_serve() -> None:
    assert serves(a_class(), a_node(deleting=True)).reasons == (NodeReason.NODE_DELETING,)


@pytest.mark.parametrize(
    ("selector", "matched"),
    [(None, True), ({}, True), ({"pool": "gpu"}, True), ({"pool": ""}, False), ({"zone": ""}, False)],
)
def test_every_selector_pair_must_equal_the_label(selector: dict[str, str] | None, matched: bool) -> None:
    assert matches_selector(selector, {"pool": "gpu"}) is matched


def test_allocatable_zero_is_advertised_and_a_missing_or_unreadable_amount_is_not() -> None:
    assert serves(a_class(), a_node(gpus=0)).serves
    assert serves(a_class(), a_node(allocatable={})).reasons == (NodeReason.RESOURCE_NOT_ADVERTISED,)
    assert serves(a_class(), a_node(allocatable={L40S: "?"})).reasons == (NodeReason.RESOURCE_NOT_ADVERTISED,)


def test_every_reason_is_named_the_most_basic_first() -> None:
    picky = a_class(selector={"pool": "gpu"})
    node = a_node(allocatable={}, ready=False, cordoned=True, taints=[A1], schedulable=False, deleting=True)

    assert serves(picky, node).reasons == tuple(NodeReason)
