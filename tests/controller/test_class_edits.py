"""What the hoster is told about an edit or a withdrawal of an offer that is held, through a server that asks the webhook."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from controller.names import CONFIG_NAME
from controller.webhook import CLAIM_PATH
from kube.errors import Denied
from kube.kinds import GPU_CLASSES, WEBHOOKS
from tests.controller.cluster import TENANT, Cluster, reason_of
from tests.controller.conftest import Start
from tests.controller.processes import RunningController


async def edit(cluster: Cluster, *, dry_run: bool = False, **spec: Any) -> tuple[str, ...]:
    read = await cluster.gateway.patch(GPU_CLASSES, "h100", {"spec": spec}, dry_run=dry_run)
    return read.warnings


@pytest.fixture
async def held(cluster: Cluster, controller: RunningController) -> Cluster:
    """Three holds on n1: of 4, 2 and 1 units."""
    for name, count in (("big", 4), ("middle", 2), ("small", 1)):
        await cluster.order(name, count)
        await cluster.until_bound(name)
    return cluster


async def test_lowering_the_most_per_order_tells_how_many_have_more(held: Cluster) -> None:
    assert await edit(held, maxCount=4) == ()

    (warning,) = await edit(held, maxCount=1)

    assert "hurts 2 holds: 2 have more units" in warning
    big = await held.until_claim("big", lambda claim: reason_of(claim, "Healthy") == "False ClassChanged")
    assert big.status.node_name == "n1", "warned about, never taken away"


async def test_holds_that_were_hurt_before_do_not_count_again(held: Cluster) -> None:
    await edit(held, maxCount=3)

    (warning,) = await edit(held, maxCount=1)

    assert "hurts 1 hold: 1 has more units" in warning
    assert await edit(held, displayName="Hopper") == ()


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"gpu": "elsewhere"}},
        {"source": {"devicePlugin": {"resourceName": "nvidia.com/OTHER"}}},
    ],
    ids=["selector", "resource name"],
)
async def test_leaving_the_nodes_of_holds_tells_how_many_sit_there(
    held: Cluster, spec: dict[str, Any]
) -> None:
    (warning,) = await edit(held, **spec)

    assert "hurts 3 holds: 3 sit on a node" in warning


async def test_a_toleration_taken_away_tells_how_many_sit_behind_the_taint(
    cluster: Cluster, controller: RunningController
) -> None:
    toleration = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    await edit(cluster, tolerations=[toleration])
    await cluster.taint("n1", {"key": "gpu", "value": "h100", "effect": "NoSchedule"})
    await cluster.until_free(8)
    await cluster.order("train", 2)
    await cluster.until_bound("train")

    (warning,) = await edit(cluster, tolerations=None)

    assert "hurts 1 hold: 1 sits on a node" in warning


async def test_a_dry_run_tells_the_same_and_changes_nothing(held: Cluster) -> None:
    (warning,) = await edit(held, dry_run=True, maxCount=1)

    assert "hurts 2 holds" in warning
    assert (await held.gateway.get(GPU_CLASSES, "h100")).object.spec.max_count is None


async def test_statuses_are_nobodys_business(held: Cluster) -> None:
    read = await held.gateway.patch(GPU_CLASSES, "h100", {"status": {"free": 0}}, subresource="status")

    assert read.warnings == ()


async def test_an_offer_that_is_held_is_not_withdrawn_and_the_holds_are_counted(held: Cluster) -> None:
    with pytest.raises(Denied) as refused:
        await held.gateway.delete(GPU_CLASSES, "h100")

    assert refused.value.reason == "ClassInUse"
    assert "3 claims use h100" in str(refused.value)

    for name in ("big", "middle", "small"):
        await held.release(name)
    await held.until_free(8)
    await held.gateway.delete(GPU_CLASSES, "h100")
    await held.until_gone(GPU_CLASSES, "h100")


async def test_an_offer_is_not_withdrawn_under_an_order_that_was_admitted_and_is_not_stored_yet(
    cluster: Cluster, controller: RunningController
) -> None:
    await cluster.order("train")
    await cluster.until_bound("train")
    admitted = await review_as_the_api_server_does(controller, "on-its-way")
    assert admitted["allowed"] is True

    with pytest.raises(Denied) as refused:
        await cluster.gateway.delete(GPU_CLASSES, "h100")

    assert "2 claims use h100" in str(refused.value)


async def test_a_new_leader_sells_nothing_beside_holds_of_an_offer_it_never_saw(
    cluster: Cluster, controller: RunningController, start: Start
) -> None:
    await cluster.order("train")
    await cluster.until_bound("train")
    controller.kill()
    await cluster.gateway.delete(WEBHOOKS, CONFIG_NAME)  # or nobody could withdraw what is held
    await cluster.gateway.delete(GPU_CLASSES, "h100")
    await cluster.add_class("h100-again")

    await asyncio.to_thread(start)

    await cluster.until_free(0, class_name="h100-again")
    with pytest.raises(Denied) as refused:
        await cluster.order("serve", class_name="h100-again")
    assert refused.value.reason == "NoCapacity"
    await cluster.release("train")
    await cluster.until_free(8, class_name="h100-again")


async def review_as_the_api_server_does(controller: RunningController, name: str) -> dict[str, Any]:
    """Ask about an order that is never stored."""
    request = {
        "uid": f"review-of-{name}",
        "operation": "CREATE",
        "namespace": TENANT,
        "dryRun": False,
        "object": {
            "metadata": {"name": name, "namespace": TENANT, "uid": f"uid-of-{name}"},
            "spec": {"className": "h100", "count": 1},
        },
    }
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            controller.webhook_url + CLAIM_PATH,
            json={"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request},
            ssl=False,
        ) as answered,
    ):
        response: dict[str, Any] = (await answered.json())["response"]
        return response
