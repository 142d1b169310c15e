"""Budgets of the tenant tree at admission: exact whoever orders at the same time, and published as they are used."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from controller.reviews import CONFLICT
from gpu.sentences import refusals_from_causes
from kube.errors import Denied
from kube.kinds import GPU_CLAIMS
from kube.watching import EventType, watch
from tests.controller.cluster import Cluster
from tests.controller.processes import RunningController

ROOT, ACME, LAB, STUDIO = "tenant-root", "tenant-acme", "tenant-acme-lab", "tenant-acme-studio"
H100, TOTAL = "gpu.cozystack.io/h100", "gpu.cozystack.io/total"


@pytest.fixture
async def tree(cluster: Cluster, controller: RunningController) -> Cluster:
    """root above acme above lab and studio; 72 units in all."""
    await cluster.add_tenant(ROOT)
    for name in (LAB, STUDIO):
        await cluster.add_tenant(name, ROOT, ACME)
    for number in range(2, 10):
        await cluster.add_node(f"n{number}", 8)
    await cluster.until_free(72)
    return cluster


async def until_known(cluster: Cluster, namespace: str, limits: dict[str, int]) -> None:
    """Wait until admission knows a budget: its use is published when it does."""
    await cluster.until_quota(
        lambda quota: all(str(quota.status.used.get(key)) == str(used) for key, used in limits.items()),
        namespace=namespace,
    )


async def refusal(cluster: Cluster, name: str, count: int, namespace: str) -> dict[str, Any]:
    """Order what must not be admitted; give the budget refusal's numbers, with its reason."""
    with pytest.raises(Denied) as refused:
        await cluster.order(name, count, namespace=namespace)
    assert refused.value.code == CONFLICT
    causes = [(cause.reason, cause.field, cause.message) for cause in refused.value.causes]
    (only,) = refusals_from_causes(causes)
    return {"reason": str(only.reason), **only.numbers}


async def test_the_order_that_fills_a_budget_passes_and_the_next_one_is_told_the_numbers(
    tree: Cluster,
) -> None:
    await tree.add_budget({H100: 5}, namespace=ACME)
    await until_known(tree, ACME, {H100: 0})
    await tree.order("train", 3, namespace=ACME)

    told = await refusal(tree, "more", 3, ACME)

    assert told == {
        "reason": "ClassBudgetExceeded",
        "asked": 3,
        "used": 3,
        "limit": 5,
        "key": "gpu.cozystack.io/h100",
        "quota": "tenant-acme/gpus",
    }
    await tree.order("more", 2, namespace=ACME)
    await until_known(tree, ACME, {H100: 5})


async def test_children_without_a_key_share_what_the_parent_has(tree: Cluster) -> None:
    await tree.add_budget({TOTAL: 6}, namespace=ACME)
    await until_known(tree, ACME, {TOTAL: 0})
    await tree.order("train", 3, namespace=LAB)
    await tree.order("serve", 2, namespace=ACME)

    told = await refusal(tree, "draw", 2, STUDIO)

    assert (told["reason"], told["used"], told["limit"]) == ("TotalBudgetExceeded", 5, 6)
    await tree.order("draw", 1, namespace=STUDIO)
    await until_known(tree, ACME, {TOTAL: 6})


async def test_a_carve_out_is_the_childs_own_and_off_the_parents_pool(tree: Cluster) -> None:
    await tree.add_budget({TOTAL: 10}, namespace=ACME)
    await tree.add_budget({TOTAL: 4}, namespace=LAB)
    await until_known(tree, ACME, {TOTAL: 0})
    await until_known(tree, LAB, {TOTAL: 0})

    assert (await refusal(tree, "big", 7, STUDIO))["limit"] == 6, "four of the ten are the lab's, used or not"
    assert (await refusal(tree, "big", 5, LAB))["quota"] == "tenant-acme-lab/gpus"
    await tree.order("draw", 6, namespace=STUDIO)
    await tree.order("train", 4, namespace=LAB)
    await until_known(tree, ACME, {TOTAL: 6})
    await until_known(tree, LAB, {TOTAL: 4})


@pytest.mark.parametrize("spelling", ["", "requests.", "limits."])
async def test_every_spelling_limits(tree: Cluster, spelling: str) -> None:
    await tree.add_budget({spelling + H100: 2, TOTAL: 50}, namespace=ACME)
    await until_known(tree, ACME, {TOTAL: 0})

    assert (await refusal(tree, "train", 3, ACME))["key"] == "gpu.cozystack.io/h100"
    await tree.order("train", 2, namespace=ACME)

    await until_known(tree, ACME, {TOTAL: 2})
    if spelling != "requests.":
        await until_known(tree, ACME, {spelling + H100: 2})


async def test_the_smallest_of_several_quotas_counts_and_is_named(tree: Cluster) -> None:
    await tree.add_budget({H100: 9, "limits." + H100: 7}, name="wide", namespace=ACME)
    await tree.add_budget({"limits." + H100: 3}, name="gpus", namespace=ACME)
    await until_known(tree, ACME, {"limits." + H100: 0})

    told = await refusal(tree, "train", 4, ACME)

    assert (told["limit"], told["quota"]) == (3, "tenant-acme/gpus")
    await tree.remove_budget(namespace=ACME)
    async with asyncio.timeout(10):
        while (told := await refusal(tree, "train", 8, ACME))["quota"] != "tenant-acme/wide":
            await asyncio.sleep(0.02)
    assert told["limit"] == 7


async def test_zero_forbids_and_no_key_does_not(tree: Cluster) -> None:
    await tree.add_budget({H100: 0}, namespace=ACME)
    await until_known(tree, ACME, {H100: 0})

    assert (await refusal(tree, "train", 1, ACME))["limit"] == 0
    assert (await refusal(tree, "train", 1, LAB))["limit"] == 0, "a child without a key is in the same pool"
    await tree.set_budget({H100: None, TOTAL: 50}, namespace=ACME)
    await until_known(tree, ACME, {TOTAL: 0})
    await tree.order("train", 1, namespace=ACME)


async def test_a_budget_lowered_below_its_use_takes_nothing_away_and_lets_nothing_in(tree: Cluster) -> None:
    await tree.add_budget({TOTAL: 8}, namespace=ACME)
    await until_known(tree, ACME, {TOTAL: 0})
    for name in ("a", "b", "c"):
        await tree.order(name, 2, namespace=ACME)
        await tree.until_bound(name)

    await tree.set_budget({TOTAL: 3}, namespace=ACME)
    async with asyncio.timeout(10):
        while (await refusal(tree, "more", 3, LAB))["limit"] != 3:
            await asyncio.sleep(0.02)

    assert (await refusal(tree, "more", 1, ACME)) | {"asked": 0} == {
        "reason": "TotalBudgetExceeded",
        "asked": 0,
        "used": 6,
        "limit": 3,
        "key": "gpu.cozystack.io/total",
        "quota": "tenant-acme/gpus",
    }
    assert {claim.status.node_name is not None for claim in (await tree.claims()).values()} == {True}
    for name in ("a", "b"):
        await tree.release(name, namespace=ACME)
    await until_known(tree, ACME, {TOTAL: 2})
    await tree.order("fits-again", 1, namespace=LAB)


async def test_two_children_that_order_at_once_never_overrun_their_pool(tree: Cluster) -> None:
    await tree.add_budget({TOTAL: 20, H100: 11}, namespace=ACME)
    await until_known(tree, ACME, {TOTAL: 0})
    admitted = 0

    async def client(number: int) -> None:
        nonlocal admitted
        namespace = (LAB, STUDIO)[number % 2]
        for attempt in range(4):
            try:
                await tree.order(f"o-{number}-{attempt}", 1 + attempt % 2, namespace=namespace)
            except Denied as refused:
                assert refused.reason == "ClassBudgetExceeded"  # noqa: PT017  # a refusal is one of the two answers
            else:
                admitted += 1 + attempt % 2

    async with asyncio.TaskGroup() as tasks:
        for number in range(24):
            tasks.create_task(client(number))

    held = sum(claim.spec.count for claim in (await tree.claims()).values())
    assert held == admitted == 11, "all of the pool and not a unit more"
    await until_known(tree, ACME, {TOTAL: 11, H100: 11})


async def test_orders_and_releases_of_two_children_stay_within_their_pool_at_every_moment(
    tree: Cluster,
) -> None:
    await tree.add_budget({TOTAL: 7}, namespace=ACME)
    await until_known(tree, ACME, {TOTAL: 0})
    is_over = asyncio.Event()
    most = 0

    async def check() -> None:
        """Add up what is held after every event of the API server's own watch."""
        nonlocal most
        held: dict[tuple[str, str], int] = {}
        async with aclosing(watch(tree.gateway, GPU_CLAIMS)) as events:
            async for event in events:
                key = (event.namespace, event.name)
                if event.type is EventType.DELETED:
                    held.pop(key, None)
                elif event.object is not None:
                    held[key] = event.object.spec.count
                most = max(most, sum(held.values()))
                if is_over.is_set() and not held:
                    return

    async def client(number: int) -> None:
        namespace = (LAB, STUDIO)[number % 2]
        for attempt in range(12):
            name = f"o-{number}-{attempt}"
            try:
                await tree.order(name, 1 + number % 3, namespace=namespace)
            except Denied as refused:
                assert refused.reason == "TotalBudgetExceeded"  # noqa: PT017  # a refusal is one of the two answers
            else:
                await tree.release(name, namespace=namespace)

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        checking = tasks.create_task(check())
        clients = [tasks.create_task(client(number)) for number in range(12)]
        await asyncio.wait(clients)
        await until_known(tree, ACME, {TOTAL: 0})
        await tree.order("last", 7, namespace=LAB)  # nothing of it all is left charged
        is_over.set()
        await tree.release("last", namespace=LAB)
        await checking

    assert most == 7
