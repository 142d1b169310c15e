from __future__ import annotations

from datetime import timedelta

import pytest

from gpu.attachment import requested_units
from gpu.corekinds import Container, ContainerResources, OwnerReference, Pod, PodSpec
from gpu.ledger import Ledger
from gpu.resources import CLAIMS_ANNOTATION
from tests.builders import ACME, L40S, NOON, a_claim, a_class, a_launcher, a_node, a_pod


@pytest.fixture
def ledger() -> Ledger:
    """One offer, one node of 8, and the claim "one" of 2 units on it."""
    ledger = Ledger()
    ledger.set_class(a_class())
    ledger.set_node(a_node("n1", gpus=8))
    ledger.set_claim(a_claim("one", gpus=2, node="n1"))
    return ledger


def _container(units: int, *, sidecar: bool = False) -> Container:
    return Container(
        resources=ContainerResources(requests={L40S: str(units), "cpu": "4"}),
        restart_policy="Always" if sidecar else "",
    )


@pytest.mark.parametrize(
    ("containers", "init", "overhead", "units"),
    [
        ([1, 2], [], {}, 3),
        ([1], [_container(4)], {}, 4),
        ([3], [_container(2), _container(1)], {}, 3),
        ([2], [_container(1, sidecar=True)], {}, 3),
        ([1], [_container(2, sidecar=True), _container(3)], {}, 5),
        ([1], [_container(3), _container(2, sidecar=True)], {}, 3),
        ([1], [], {L40S: "1"}, 2),
    ],
)
def test_a_pod_asks_as_the_scheduler_counts(
    containers: list[int], init: list[Container], overhead: dict[str, str | int], units: int
) -> None:
    spec = PodSpec(
        containers=[_container(asked) for asked in containers], init_containers=init, overhead=overhead
    )

    assert requested_units(Pod(metadata=a_pod().metadata, spec=spec)) == {L40S: units}


def test_a_limit_without_a_request_is_a_request() -> None:
    container = Container(resources=ContainerResources(limits={L40S: "2"}))

    assert requested_units(Pod(metadata=a_pod().metadata, spec=PodSpec(containers=[container]))) == {L40S: 2}


def test_a_launcher_uses_its_claim_and_takes_nothing_more(ledger: Ledger) -> None:
    ledger.set_pod(a_launcher("vm", gpus=2))

    cell = ledger.cell("n1", L40S)

    assert (cell.held, cell.in_use, cell.foreign, cell.free) == (2, 2, 0, 6)
    attached = ledger.attachment(ACME, "one")
    assert attached is not None
    assert (attached.kind, attached.name, attached.uid) == ("VirtualMachineInstance", "vm", "vmi-vm")


def test_what_a_launcher_asks_above_its_claims_is_foreign(ledger: Ledger) -> None:
    ledger.set_pod(a_launcher("vm", gpus=5))

    assert ledger.cell("n1", L40S).foreign == 3


def test_one_launcher_runs_with_several_claims(ledger: Ledger) -> None:
    ledger.set_claim(a_claim("two", gpus=1, node="n1"))
    ledger.set_pod(a_launcher("vm", claims=["one", " two", "one", ""], gpus=3))

    cell = ledger.cell("n1", L40S)

    assert (cell.in_use, cell.foreign) == (3, 0)


def test_of_two_launchers_the_older_has_the_claim_and_the_other_is_foreign(ledger: Ledger) -> None:
    ledger.set_pod(a_launcher("vm", gpus=2, name="new", created_at=NOON + timedelta(minutes=1)))
    ledger.set_pod(a_launcher("vm", gpus=2, name="old", terminating=True))
    assert ledger.cell("n1", L40S).foreign == 2

    ledger.remove_pod(ACME, "old")

    assert ledger.cell("n1", L40S).foreign == 0
    assert ledger.attachment(ACME, "one") is not None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_is_over_detaches(ledger: Ledger, phase: str) -> None:
    ledger.set_pod(a_launcher("vm", gpus=2))
    ledger.set_pod(a_launcher("vm", gpus=2, phase=phase))

    assert ledger.attachment(ACME, "one") is None
    assert ledger.cell("n1", L40S).in_use == 0


def test_a_terminating_launcher_still_runs_with_the_claim(ledger: Ledger) -> None:
    ledger.set_pod(a_launcher("vm", gpus=2, terminating=True))

    assert ledger.attachment(ACME, "one") is not None


@pytest.mark.parametrize(
    "stranger",
    [
        a_launcher("vm", gpus=2, node="n2"),
        a_launcher("vm", gpus=2, namespace="tenant-globex"),
        a_launcher("vm", gpus=2, claims=["other"]),
        a_pod("forged", gpus=2, namespace=ACME, annotations={CLAIMS_ANNOTATION: "one"}),
        a_pod(
            "owned",
            gpus=2,
            namespace=ACME,
            annotations={CLAIMS_ANNOTATION: "one"},
            owners=[OwnerReference(kind="VirtualMachineInstance", name="vm", uid="u", controller=False)],
        ),
    ],
)
def test_a_pod_elsewhere_or_of_somebody_else_is_foreign(ledger: Ledger, stranger: Pod) -> None:
    ledger.set_node(a_node("n2", gpus=8))
    ledger.set_pod(stranger)

    assert ledger.attachment(ACME, "one") is None
    assert ledger.cell(stranger.spec.node_name, L40S).foreign == 2


def test_a_pod_may_be_seen_before_its_claim_and_its_node() -> None:
    ledger = Ledger()
    ledger.set_pod(a_launcher("vm", gpus=2))
    ledger.set_claim(a_claim("one", gpus=2, node="n1"))
    ledger.set_node(a_node("n1", gpus=8))
    ledger.set_class(a_class())

    cell = ledger.cell("n1", L40S)

    assert (cell.held, cell.in_use, cell.foreign, cell.free) == (2, 2, 0, 6)


def test_a_pod_without_a_node_takes_nothing(ledger: Ledger) -> None:
    ledger.set_pod(a_pod(gpus=4, node=""))

    assert ledger.cell("n1", L40S).foreign == 0
