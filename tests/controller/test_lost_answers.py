"""Writes whose answer is lost: what may have been stored stays charged until the API server says what became of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpu.fit import Order
from kube import config
from kube.aio import AsyncGateway
from kube.kinds import NODES, PODS
from tests.controller.cluster import Cluster, reason_of
from tests.controller.desk import Desk, desk, until
from tests.kube.servers import RunningServer
from tests.system.proxy import FaultProxy, Faults, fault_proxy


@dataclass
class Scene:
    """A leader whose writes go through the proxy. Each of n1, n2 and n3 has one unit, n3 is cordoned."""

    cluster: Cluster
    leader: Desk
    proxy: FaultProxy

    def lose_answers(self) -> None:
        self.proxy.faults = Faults(lost_answers=1.0, answers_lost_after_seconds=0.0)

    async def until_it_tried(self) -> None:
        """Wait until the leader has acted on what it knows now, in vain, or found nothing to do."""
        enough = self.leader.failures + 2  # one look was perhaps under way
        await until(lambda: self.leader.failures >= enough or self.leader.is_resting)

    async def heal(self) -> None:
        self.proxy.heal()
        await self.leader.rest()

    async def planned(self) -> dict[str, str]:
        """Give the node that each claim is charged to beside the one it is known to be on."""
        decisions = self.leader.ledger.decisions()
        return {
            name: decisions[claim.metadata.uid]
            for name, claim in sorted((await self.cluster.claims()).items())
            if claim.metadata.uid in decisions
        }

    async def nodes(self) -> dict[str, str | None]:
        return {name: claim.status.node_name for name, claim in sorted((await self.cluster.claims()).items())}

    def sells(self) -> bool:
        return self.leader.ledger.check(Order("tenant-z", "h100", 1)).ok


@pytest.fixture
async def scene(cluster: Cluster, own_server: RunningServer, tmp_path: Path) -> AsyncIterator[Scene]:
    await cluster.resize(n1=1, n2=1, n3=1)
    await cluster.cordon("n3")
    found = config.load(own_server.kubeconfig)
    async with (
        fault_proxy(found, tmp_path / "proxy") as proxy,
        AsyncGateway.connect(config.load(proxy.kubeconfig)) as way,
        desk(cluster.gateway, through=way) as leader,
    ):
        await leader.learn()
        yield Scene(cluster, leader, proxy)
        proxy.heal()


async def _bind(scene: Scene, name: str) -> None:
    await scene.cluster.order(name)
    await scene.leader.learn()
    assert (await scene.nodes())[name] == "n1"


async def test_a_unit_that_a_move_may_have_taken_is_not_sold_when_the_node_comes_back(scene: Scene) -> None:
    await _bind(scene, "x")
    scene.lose_answers()
    await scene.cluster.cordon("n1")
    await scene.leader.hear(NODES)
    await scene.until_it_tried()
    assert await scene.nodes() == {"x": "n2"}, "stored, and nobody was told"
    await scene.cluster.cordon("n1", unschedulable=False)

    await scene.leader.hear(NODES)
    await scene.until_it_tried()

    assert not scene.sells()
    await scene.heal()
    assert await scene.nodes() == {"x": "n2"}
    assert await scene.planned() == {}
    assert scene.sells(), "n1 is free"


async def test_a_unit_that_a_first_binding_may_have_taken_stays_charged_when_its_node_falls_out(
    scene: Scene,
) -> None:
    scene.lose_answers()
    await scene.cluster.order("x")
    await scene.leader.hear()
    await scene.until_it_tried()
    assert await scene.nodes() == {"x": "n1"}
    await scene.cluster.cordon("n1")

    await scene.leader.hear(NODES)
    await scene.until_it_tried()

    assert await scene.planned() == {"x": "n1"}
    await scene.heal()
    assert await scene.nodes() == {"x": "n2"}
    assert await scene.planned() == {}


async def test_the_rest_of_a_set_does_not_plan_anew_what_one_of_it_may_have_taken(scene: Scene) -> None:
    await scene.cluster.resize(n1=2, n2=2, n3=2)
    for name in ("x", "y"):
        await scene.cluster.order(name, set_name="vm")
    await scene.leader.learn()
    assert await scene.nodes() == {"x": "n1", "y": "n1"}
    scene.lose_answers()
    await scene.cluster.cordon("n1")
    await scene.leader.hear(NODES)
    await scene.until_it_tried()
    await scene.cluster.cordon("n2")
    await scene.cluster.cordon("n3", unschedulable=False)

    await scene.leader.hear(NODES)
    await scene.until_it_tried()

    assert (await scene.planned()).get("x") == "n2"
    await scene.heal()
    await scene.leader.wait()
    assert await scene.nodes() == {"x": "n3", "y": "n3"}
    assert await scene.planned() == {}


async def test_a_move_that_was_never_stored_is_over_once_a_vm_runs_where_the_hold_is(scene: Scene) -> None:
    await _bind(scene, "x")
    scene.proxy.cut_off()
    await scene.cluster.cordon("n1")
    await scene.leader.hear(NODES)
    await scene.until_it_tried()
    await scene.cluster.start_vm("vm", "x", node="n1")

    await scene.leader.hear(PODS)
    await scene.until_it_tried()

    assert await scene.planned() == {"x": "n2"}, "it may yet be"
    await scene.heal()
    assert await scene.nodes() == {"x": "n1"}
    assert await scene.planned() == {}
    assert reason_of(await scene.cluster.claim("x"), "Attached") == "True VirtualMachineRunning"


async def test_a_move_is_not_written_again_while_a_vm_may_have_started_unseen(scene: Scene) -> None:
    await _bind(scene, "x")
    scene.proxy.cut_off()
    await scene.cluster.cordon("n1")
    await scene.leader.hear(NODES)
    await scene.until_it_tried()
    scene.leader.lose(PODS)
    await scene.cluster.start_vm("vm", "x", node="n1")
    await scene.cluster.cordon("n1", unschedulable=False)
    await scene.leader.hear(NODES)

    await scene.heal()

    assert (await scene.nodes(), await scene.planned()) == ({"x": "n1"}, {"x": "n2"})
    await scene.leader.learn(PODS)
    assert (await scene.nodes(), await scene.planned()) == ({"x": "n1"}, {})
