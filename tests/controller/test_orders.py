"""An order from create to bound, and the orders that are refused."""

from __future__ import annotations

import asyncio
import json

import pytest

from gpu.corekinds import ResourceQuota
from gpu.fit import Reason
from gpu.sentences import refusals_from_causes
from kube.errors import Denied
from kube.kinds import GPU_CLASSES
from tests.controller.cluster import TENANT, Cluster, reason_of

pytestmark = pytest.mark.usefixtures("controller")


async def test_an_order_is_bound_before_any_pod_exists(cluster: Cluster) -> None:
    await cluster.order("train", 2)

    claim = await cluster.until_bound("train")

    assert claim.status.node_name == "n1"
    assert claim.status.bound_at is not None
    assert reason_of(claim, "Bound") == "True Allocated"
    assert reason_of(claim, "Attached") == "False NeverAttached"
    assert reason_of(claim, "Healthy") == "True Healthy"
    assert (await cluster.until_free(6)).status.max_free_per_node == 6


async def test_an_order_that_fragmentation_stops_is_refused_with_the_numbers(cluster: Cluster) -> None:
    await cluster.add_node("n2", 3)
    await cluster.until_free(11)

    with pytest.raises(Denied) as refused:
        await cluster.order("train", 10)

    error = refused.value
    assert (error.code, error.reason) == (409, "NoNodeFits")
    assert "You ask for 10. 11 are free, but no single node has more than 8." in error.message
    (refusal,) = refusals_from_causes((cause.reason, cause.field, cause.message) for cause in error.causes)
    assert refusal.numbers == {"asked": 10, "free": 11, "maxFreePerNode": 8}
    assert await cluster.claims() == {}


async def test_every_reason_is_told_not_the_first_alone(cluster: Cluster) -> None:
    await cluster.add_class("small", mode="vgpu", profile="8C")
    await cluster.add_budget({"gpu.cozystack.io/total": 4})
    await cluster.until_free(8, class_name="small")

    with pytest.raises(Denied) as refused:
        await cluster.order("train", 9, class_name="small")

    assert [cause.reason for cause in refused.value.causes] == [
        "CountAboveMax",
        "NoCapacity",
        "TotalBudgetExceeded",
    ]


async def test_an_offer_that_does_not_exist_is_said_to_be_so(cluster: Cluster) -> None:
    with pytest.raises(Denied) as refused:
        await cluster.order("train", class_name="gone")

    assert refused.value.reason == Reason.CLASS_NOT_FOUND


async def test_the_order_that_exactly_fills_the_node_passes(cluster: Cluster) -> None:
    await cluster.until_free(8)

    await cluster.order("train", 8)

    await cluster.until_free(0)


async def test_a_dry_run_reserves_nothing(cluster: Cluster) -> None:
    await cluster.until_free(8)

    for _ in range(3):
        await cluster.order("train", 8, dry_run=True)

    assert await cluster.claims() == {}
    await cluster.order("train", 8)
    with pytest.raises(Denied):
        await cluster.order("serve", 1, dry_run=True)


async def test_fifty_at_once_for_the_last_unit_and_one_gets_it(cluster: Cluster) -> None:
    await cluster.order("others", 7)
    await cluster.until_free(1)

    answers = await asyncio.gather(*(cluster.order(f"last-{i}") for i in range(50)), return_exceptions=True)

    refused = [answer for answer in answers if isinstance(answer, Denied)]
    assert len(refused) == 49
    assert {error.reason for error in refused} == {"NoCapacity"}
    assert len(await cluster.claims()) == 2


async def test_a_set_stays_on_one_node(cluster: Cluster) -> None:
    await cluster.add_node("n2", 8)
    await cluster.until_free(16)
    await cluster.order("a", 2, set_name="vm")
    await cluster.order("other", 5)

    await cluster.order("b", 1, set_name="vm")

    first, second = await cluster.until_bound("a"), await cluster.until_bound("b")
    assert first.status.node_name == second.status.node_name
    with pytest.raises(Denied) as refused:
        await cluster.order("c", 1, set_name="vm")
    assert refused.value.reason == "SetNodeFull"


async def test_a_released_unit_is_free_again(cluster: Cluster) -> None:
    await cluster.order("train", 8)
    await cluster.until_free(0)

    await cluster.release("train")

    await cluster.until_free(8)
    await cluster.order("serve", 8)


async def test_the_budget_counts_every_spelling_and_publishes_what_is_used(cluster: Cluster) -> None:
    await cluster.add_budget(
        {
            "gpu.cozystack.io/h100": 4,
            "limits.gpu.cozystack.io/total": 4,
            "requests.gpu.cozystack.io/total": 3,
        }
    )

    await cluster.order("train", 2)

    def says_two(quota: ResourceQuota) -> bool:
        return quota.status.used == {"gpu.cozystack.io/h100": "2", "limits.gpu.cozystack.io/total": "2"}

    await cluster.until_quota(says_two)
    with pytest.raises(Denied) as refused:
        await cluster.order("serve", 2)
    (cause,) = refused.value.causes
    assert cause.reason == "TotalBudgetExceeded"
    assert json.loads(cause.message)["limit"] == 3
    await cluster.release("train")
    await cluster.until_quota(lambda quota: set(quota.status.used.values()) == {"0"})


async def test_the_pool_of_a_tenant_counts_its_subtenants(cluster: Cluster) -> None:
    await cluster.add_tenant("tenant-acme-lab", "tenant-acme")
    await cluster.add_budget({"gpu.cozystack.io/total": 3})
    await cluster.until_quota(lambda quota: quota.status.used)

    await cluster.order("train", 2, namespace="tenant-acme-lab")

    await cluster.until_quota(lambda quota: quota.status.used == {"gpu.cozystack.io/total": "2"})
    with pytest.raises(Denied) as refused:
        await cluster.order("serve", 2, namespace=TENANT)
    assert refused.value.reason == "TotalBudgetExceeded"


async def test_a_class_with_claims_is_not_deleted(cluster: Cluster) -> None:
    await cluster.order("train")

    with pytest.raises(Denied) as refused:
        await cluster.gateway.delete(GPU_CLASSES, "h100")

    assert refused.value.reason == "ClassInUse"
    assert json.loads(refused.value.causes[0].message) == {"claims": 1}
    await cluster.release("train")
    await cluster.until_free(8)
    await cluster.gateway.delete(GPU_CLASSES, "h100")
