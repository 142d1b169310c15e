"""What the demo cluster promises to whoever looks at it for the first time."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
import pytest
from django.core.management import call_command

from catalog.models import OfferPresentation
from gpu import corekinds as core
from gpu import resources as gpu
from gpu.fit import Offer, Order, Reason, largest_order
from gpu.ledger import Ledger
from tools import manifests
from tools.demo import DEPLOY

ALICE = "tenant-acme"
DEMO = manifests.read(DEPLOY / "demo")


def of_kind(name: str) -> list[dict[str, Any]]:
    return [body for kind, body in DEMO if kind.name == name]


def decoded(body: dict[str, Any], model: type[Any]) -> Any:
    meta = body["metadata"]
    uid = str(uuid5(NAMESPACE_URL, f"{body['kind']}/{meta.get('namespace')}/{meta['name']}"))
    return msgspec.convert(body | {"metadata": {"uid": uid, "resourceVersion": "1"} | meta}, model)


def classes() -> dict[str, gpu.GPUClass]:
    return {body["metadata"]["name"]: decoded(body, gpu.GPUClass) for body in of_kind("GPUClass")}


def claims() -> dict[str, gpu.GPUClaim]:
    return {body["metadata"]["name"]: decoded(body, gpu.GPUClaim) for body in of_kind("GPUClaim")}


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    for body in of_kind("Namespace"):
        ledger.set_namespace(decoded(body, core.Namespace))
    for body in of_kind("ResourceQuota"):
        ledger.set_quota(decoded(body, core.ResourceQuota))
    for body in of_kind("Node"):
        ledger.set_node(decoded(body, core.Node))
    for offer in classes().values():
        ledger.set_class(offer)
    for body in of_kind("Pod"):
        ledger.set_pod(decoded(body, core.Pod))
    for claim in claims().values():
        ledger.set_claim(claim)
    for claim in claims().values():
        if claim.status.node_name is None:
            ledger.plan(claim.metadata.namespace, claim.metadata.name)
    return ledger


def free(ledger: Ledger, class_name: str) -> tuple[int | None, int | None]:
    capacity = ledger.capacity(class_name)
    return capacity.free, capacity.max_free_per_node


def test_there_are_twelve_gpu_nodes_or_more_and_eight_offers() -> None:
    with_gpus = [
        body
        for body in of_kind("Node")
        if any(name.startswith(("nvidia.com/", "amd.com/")) for name in body["status"]["capacity"])
    ]

    assert len(with_gpus) >= 12
    assert len(classes()) == 8


def test_nodes_show_each_trouble_a_hoster_may_have() -> None:
    nodes = {body["metadata"]["name"]: decoded(body, core.Node) for body in of_kind("Node")}

    assert [name for name, node in nodes.items() if node.spec.unschedulable] == ["hgx-a100-2"]
    assert [
        name
        for name, node in nodes.items()
        if any(c.type == "Ready" and c.status != "True" for c in node.status.conditions or [])
    ] == ["l4-3"]
    assert [
        name
        for name, node in nodes.items()
        if any(taint.key == "dedicated" for taint in node.spec.taints or [])
    ] == ["hgx-h200-3"]
    dead = [
        body["metadata"]["name"]
        for body in of_kind("GPUNode")
        if any(device["health"] != "Healthy" for device in body["status"]["devices"])
    ]
    assert dead == ["l4-2"]


def test_the_devices_of_a_node_add_up_to_what_kubelet_counts() -> None:
    allocatable = {body["metadata"]["name"]: body["status"]["allocatable"] for body in of_kind("Node")}

    for body in of_kind("GPUNode"):
        name = body["metadata"]["name"]
        (resource,) = {device["resourceName"] for device in body["status"]["devices"]}
        units = sum(device["allocatable"] for device in body["status"]["devices"])
        assert units == int(allocatable[name][resource]), name


def test_every_state_of_the_catalog_can_be_seen(ledger: Ledger) -> None:
    assert free(ledger, "h200-sxm") == (13, 7)  # available
    assert free(ledger, "mi300x") == (2, 2)  # low
    assert free(ledger, "l40s-12c") == (0, 0)  # sold out
    assert not list(ledger.serving_nodes("b200"))  # not served


def test_one_passthrough_offer_has_eight_free_and_no_node_with_more_than_four(ledger: Ledger) -> None:
    assert free(ledger, "h100-sxm") == (8, 4)

    verdict = ledger.check(Order(namespace=ALICE, class_name="h100-sxm", count=6, set_name=None))

    assert [refusal.reason for refusal in verdict.refusals] == [Reason.NO_NODE_FITS]
    assert verdict.refusals[0].numbers == {"asked": 6, "free": 8, "maxFreePerNode": 4}


def test_two_of_a_vgpu_offer_without_max_count_are_refused_for_that_alone(ledger: Ledger) -> None:
    assert classes()["l40s-24c"].spec.max_count is None

    verdict = ledger.check(Order(namespace=ALICE, class_name="l40s-24c", count=2, set_name=None))

    assert [refusal.reason for refusal in verdict.refusals] == [Reason.COUNT_ABOVE_MAX]


@pytest.mark.parametrize("class_name", ["h200-sxm", "a100-80g", "l4"])
def test_alice_may_order_two_more_of_three_passthrough_offers(ledger: Ledger, class_name: str) -> None:
    offer = classes()[class_name]
    assert offer.spec.mode is gpu.Mode.PASSTHROUGH

    verdict = ledger.check(Order(namespace=ALICE, class_name=class_name, count=2, set_name=None))

    assert verdict.ok, verdict.refusals


def test_alice_may_order_two_of_each_one_after_the_other(ledger: Ledger) -> None:
    for class_name in ("h200-sxm", "a100-80g", "l4"):
        order = Order(namespace=ALICE, class_name=class_name, count=2, set_name=None)
        assert ledger.reserve(f"alice-{class_name}", order, expires_at=60.0).ok

    budgets = ledger.check(Order(namespace=ALICE, class_name="h100-sxm", count=1, set_name=None))
    assert budgets.ok


def test_the_holds_are_all_where_the_files_say(ledger: Ledger) -> None:
    held = {name: claim.status.node_name for name, claim in claims().items() if claim.status.node_name}

    for name, node in held.items():
        claim = claims()[name]
        offer = classes()[claim.spec.class_name]
        assert ledger.cell(node, offer.resource_name).held >= claim.spec.count, name


def test_one_hold_is_over_committed_and_nothing_else_is(ledger: Ledger) -> None:
    over = {
        node["metadata"]["name"]: ledger.cell(node["metadata"]["name"], resource).over_committed
        for node in of_kind("Node")
        for resource in node["status"]["capacity"]
        if "/" in resource and ledger.cell(node["metadata"]["name"], resource).over_committed
    }

    assert over == {"l4-2": 1}


def test_every_state_of_a_hold_can_be_seen(ledger: Ledger) -> None:
    in_use = {
        name for name, c in claims().items() if ledger.attachment(c.metadata.namespace, name) is not None
    }

    assert {"train-1", "render", "archive", "lab-1"} <= in_use  # in use
    assert "notebook" not in in_use  # held, the VM is off
    assert claims()["old-sim"].is_releasing
    assert "old-sim" in in_use  # so it stays: releasing
    assert ledger.plan(ALICE, "preview") is None  # waits


def test_the_pod_that_belongs_to_no_order_counts_as_foreign(ledger: Ledger) -> None:
    cell = ledger.cell("hgx-h200-2", classes()["h200-sxm"].resource_name)

    assert (cell.foreign, cell.free) == (1, 7)


def test_the_sub_tenant_shares_its_parents_class_budget_and_has_a_total_of_its_own(ledger: Ledger) -> None:
    ordered = Order(namespace="tenant-acme-lab", class_name="l4", count=4, set_name=None)

    reasons = {refusal.reason: refusal.numbers for refusal in ledger.check(ordered).refusals}

    assert Reason.TOTAL_BUDGET_EXCEEDED in reasons
    assert reasons[Reason.TOTAL_BUDGET_EXCEEDED]["quota"] == "tenant-acme-lab/tenant-quota"
    assert Reason.CLASS_BUDGET_EXCEEDED not in reasons


def test_the_largest_order_named_for_alice_fits(ledger: Ledger) -> None:
    for class_name, offer in classes().items():
        budgets = ledger.budgets.for_order(ALICE, class_name)
        largest = largest_order(Offer.of(offer), ledger.capacity(class_name), budgets)
        if largest:
            order = Order(namespace=ALICE, class_name=class_name, count=largest, set_name=None)
            assert ledger.check(order).ok, class_name


@pytest.mark.django_db
def test_every_offer_of_the_demo_has_a_price() -> None:
    call_command("loaddata", str(DEPLOY / "demo" / "portal" / "prices.yaml"), verbosity=0)

    assert set(OfferPresentation.objects.values_list("pk", flat=True)) == set(classes())
