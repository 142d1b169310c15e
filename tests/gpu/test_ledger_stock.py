"""What the ledger says of nodes, resources and offers."""

from __future__ import annotations

import pytest

from gpu.cells import Cell
from gpu.conditions import HealthyReason
from gpu.corekinds import Taint
from gpu.eligibility import NodeReason
from gpu.fit import Order, Reason
from gpu.health import Harm
from gpu.ledger import Ledger
from gpu.resources import Mode
from gpu.stock import ClassTotals
from tests.builders import (
    ACME,
    L40S,
    a_claim,
    a_class,
    a_node,
    a_pod,
)
from tests.gpu.asking import free_of, reasons_of

# Stock


def test_free_is_the_sum_over_serving_nodes_and_the_largest_of_them(ledger: Ledger) -> None:
    ledger.set_node(a_node("cordoned", gpus=8, cordoned=True))

    assert free_of(ledger) == (14, 8)
    assert ledger.serving_nodes("l40s") == ("n2", "n4", "n8")
    assert ledger.class_totals("l40s") == ClassTotals(units=22, out_of_service=8, free=14)


def test_the_free_units_of_an_unknown_class_are_unknown(ledger: Ledger) -> None:
    assert free_of(ledger, "h200") == (None, None)


def test_a_node_with_dead_devices_counts_them_as_out_of_service() -> None:
    ledger = Ledger()
    ledger.set_class(a_class())
    ledger.set_node(a_node("n1", allocatable={L40S: "0"}, capacity={L40S: "16"}))

    assert free_of(ledger) == (0, 0)
    assert ledger.capacity("l40s").has_eligible_node
    assert ledger.class_totals("l40s") == ClassTotals(units=16, out_of_service=16)


def test_a_plugin_that_restarts_over_commits_for_a_while_and_releases_nothing(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=3, node="n4"))

    for allocatable in ({L40S: "1"}, {L40S: "0"}, {}):
        ledger.set_node(a_node("n4", allocatable=allocatable, capacity={L40S: "4"}))
        cell = ledger.cell("n4", L40S)
        assert (cell.held, cell.free) == (3, 0)
        assert cell.over_committed == 3 - int(allocatable.get(L40S, 0))
        assert HealthyReason.OVER_COMMITTED in ledger.health(ACME, "one")

    ledger.set_node(a_node("n4", gpus=4))
    assert ledger.cell("n4", L40S) == Cell(capacity=4, allocatable=4, held=3, free=1)
    assert ledger.health(ACME, "one") == ()


def test_one_unreadable_value_spoils_that_value_only() -> None:
    ledger = Ledger()
    ledger.set_class(a_class("a", resource="v.io/A"))
    ledger.set_class(a_class("b", resource="v.io/B"))
    ledger.set_node(a_node("n1", allocatable={"v.io/A": "many", "v.io/B": "1k", "memory": "12 apples"}))

    assert free_of(ledger, "a") == (0, 0)
    assert free_of(ledger, "b") == (1000, 1000)


def test_a_heartbeat_changes_nothing(ledger: Ledger) -> None:
    ledger.set_node(a_node("n8", gpus=8))

    assert not ledger.take_changes()


def test_a_cell_is_announced_even_when_only_its_allocatable_changed(ledger: Ledger) -> None:
    ledger.set_pod(a_pod(gpus=9, node="n4"))
    ledger.take_changes()

    ledger.set_node(a_node("n4", allocatable={L40S: 3}, capacity={L40S: 4}))

    assert ledger.take_changes().cells == {("n4", L40S)}


def test_resources_that_no_class_sells_are_not_counted(ledger: Ledger) -> None:
    ledger.set_node(a_node("n8", allocatable={L40S: 8, "devices.kubevirt.io/kvm": "1k"}))
    ledger.set_pod(a_pod(asks={"devices.kubevirt.io/kvm": 1}, node="n8"))
    assert ledger.cell("n8", "devices.kubevirt.io/kvm") == Cell()

    ledger.set_class(a_class("kvm", resource="devices.kubevirt.io/kvm"))

    assert free_of(ledger, "kvm") == (999, 999)


def test_foreign_pods_take_from_free_but_not_from_what_is_held(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))
    ledger.set_pod(a_pod(gpus=3, node="n4"))

    cell = ledger.cell("n4", L40S)

    assert (cell.held, cell.foreign, cell.free, cell.over_committed) == (2, 3, 0, 1)


# Classes


def test_two_classes_on_one_resource_and_node_sell_the_same_units(ledger: Ledger) -> None:
    ledger.set_class(a_class("twin"))
    ledger.set_class(a_class("elsewhere", selector={"pool": "none"}))
    ledger.set_claim(a_claim(gpus=8, of="twin", node="n8"))

    assert free_of(ledger) == free_of(ledger, "twin") == (6, 4)
    assert ledger.overlaps("l40s") == ("twin",)
    assert ledger.overlaps("elsewhere") == ()


def test_a_class_that_nobody_serves_tells_how_many_nodes_fail_for_what(ledger: Ledger) -> None:
    ledger.set_class(a_class("picky", selector={"pool": "gpu"}))
    ledger.set_node(a_node("tainted", labels={"pool": "gpu"}, taints=[Taint(key="a", effect="NoSchedule")]))
    ledger.set_node(a_node("ill", labels={"pool": "gpu"}, ready=False))

    assert ledger.node_reasons("picky") == {
        NodeReason.SELECTOR_MISMATCH: 3,
        NodeReason.NODE_NOT_READY: 1,
        NodeReason.TAINT_NOT_TOLERATED: 1,
    }
    assert reasons_of(ledger, Order(ACME, "picky")) == [Reason.NO_ELIGIBLE_NODE]


def test_a_claim_moves_with_the_resource_of_its_class_and_stays_when_the_class_goes(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))

    ledger.set_class(a_class(resource="v.io/NEW"))
    assert (ledger.cell("n4", L40S).held, ledger.cell("n4", "v.io/NEW").held) == (0, 2)
    assert ledger.health(ACME, "one") == (HealthyReason.OVER_COMMITTED, HealthyReason.CLASS_CHANGED)

    ledger.set_class(a_class())
    ledger.remove_class("l40s")
    assert ledger.cell("n4", L40S).held == 2
    assert ledger.health(ACME, "one") == (HealthyReason.CLASS_CHANGED,)


def test_nothing_is_sold_beside_a_claim_of_a_class_that_nobody_saw(ledger: Ledger) -> None:
    """It may sit on any unit of its node, as a new leader has to think after a class was removed."""
    ledger.set_class(a_class("other", resource="v.io/OTHER"))
    ledger.set_node(a_node("n8", allocatable={L40S: 8, "v.io/OTHER": 2}))
    ledger.take_changes()

    ledger.set_claim(a_claim(of="gone", node="n8"))

    assert free_of(ledger) == (6, 4)
    assert free_of(ledger, "other") == (0, 0)
    assert ledger.cell("n8", L40S) == Cell(capacity=8, allocatable=8, free=0)
    assert ledger.class_totals("l40s") == ClassTotals(units=14, out_of_service=8, free=6)
    assert ledger.serving_nodes("l40s") == ("n2", "n4", "n8")
    assert reasons_of(ledger, Order(ACME, "l40s", 5)) == [Reason.NO_NODE_FITS]
    assert reasons_of(ledger, Order(ACME, "other")) == [Reason.NO_CAPACITY]
    assert ledger.health(ACME, "one") == (HealthyReason.CLASS_CHANGED,)
    changes = ledger.take_changes()
    assert changes.classes == {"l40s", "other"}
    assert changes.cells == {("n8", L40S), ("n8", "v.io/OTHER")}


def test_neither_an_order_nor_a_waiting_claim_is_put_beside_it(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("unknown", of="gone", node="n2", set_name="vm"))
    ledger.set_claim(a_claim("waits", gpus=2))

    assert ledger.plan(ACME, "waits") == "n4"
    assert ledger.reserve("u1", Order(ACME, "l40s", 2), expires_at=10).ok
    assert ledger.decisions()["u1"] == "n4"
    assert reasons_of(ledger, Order(ACME, "l40s", 1, "vm")) == [Reason.SET_NODE_FULL]


def test_the_node_sells_again_when_the_last_such_claim_is_gone_or_elsewhere(ledger: Ledger) -> None:
    for name in ("one", "two"):
        ledger.set_claim(a_claim(name, of="gone", node="n8"))
    ledger.set_claim(a_claim("waits", gpus=8))
    ledger.remove_node("n8")
    ledger.set_node(a_node("n8", gpus=8))
    ledger.remove_claim(ACME, "one")
    assert ledger.cell("n8", L40S).free == 0
    ledger.take_changes()

    ledger.set_claim(a_claim("two", of="gone", node="n2"))

    assert ledger.cell("n2", L40S).free == 0
    assert (ACME, "waits") in ledger.take_changes().claims
    assert ledger.plan(ACME, "waits") == "n8"


@pytest.mark.parametrize(("resource", "free"), [(L40S, 5), ("v.io/OTHER", 8)])
def test_a_class_that_returns_tells_which_units_its_claims_have(
    ledger: Ledger, resource: str, free: int
) -> None:
    ledger.set_claim(a_claim(gpus=3, of="gone", node="n8"))
    ledger.set_claim(a_claim("waits", of="gone"))
    assert ledger.cell("n8", L40S).free == 0

    ledger.set_class(a_class("gone", resource=resource))
    assert ledger.cell("n8", L40S).free == free

    ledger.remove_class("gone")
    assert ledger.cell("n8", L40S).free == free, "from now on it is known what the class sold"


@pytest.mark.parametrize(
    "edited", [a_class(selector={"pool": "x"}), a_class(max_count=1), a_class(mode=Mode.VGPU)]
)
def test_an_edit_that_leaves_a_claim_behind_makes_it_unhealthy_and_drops_nothing(
    ledger: Ledger, edited: object
) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))
    ledger.take_changes()

    ledger.set_class(edited)  # type: ignore[arg-type]  # parametrized as object

    assert ledger.health(ACME, "one") == (HealthyReason.CLASS_CHANGED,)
    assert ledger.cell("n4", L40S).held == 2
    assert (ACME, "one") in ledger.take_changes().claims


def test_the_harm_of_an_edit_is_counted_before_it_is_made(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("small", gpus=1, node="n4"))
    ledger.set_claim(a_claim("large", gpus=2, node="n4"))
    ledger.set_claim(a_claim("waiting", gpus=4))
    ledger.take_changes()

    assert not ledger.harm_of_edit(a_class())
    assert not ledger.harm_of_edit(a_class(max_count=4))
    assert ledger.harm_of_edit(a_class(max_count=1)) == Harm(outgrown=2)
    assert ledger.harm_of_edit(a_class(selector={"pool": "x"})) == Harm(astray=2)
    assert ledger.harm_of_edit(a_class(selector={"pool": "x"}, max_count=1)) == Harm(outgrown=2, astray=1)
    assert ledger.harm_of_edit(a_class("another", max_count=1)) == Harm()
    assert not ledger.take_changes().claims


def test_claims_that_an_edit_harmed_already_are_not_counted_again(ledger: Ledger) -> None:
    ledger.set_claim(a_claim(gpus=2, node="n4"))
    ledger.set_class(a_class(max_count=1))

    assert ledger.harm_of_edit(a_class(max_count=1, selector={"pool": "x"})) == Harm()
    ledger.set_class(a_class(selector={"pool": "x"}))
    assert ledger.harm_of_edit(a_class(selector={"pool": "y"})) == Harm()
