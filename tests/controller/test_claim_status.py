from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controller.claim_status import Situation, claim_status, wanted_finalizers
from controller.patches import difference
from gpu.conditions import BoundReason, HealthyReason
from gpu.corekinds import ObjectMeta
from gpu.resources import RELEASE_FINALIZER, AttachedTo, GPUClaim, GPUClaimSpec, GPUClaimStatus, RefusedNode

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
VM = AttachedTo(kind="VirtualMachineInstance", name="train", uid="vm-uid")


def a_claim(
    status: GPUClaimStatus | None = None, *, finalizers: tuple[str, ...] = (), deleted: bool = False
) -> GPUClaim:
    return GPUClaim(
        metadata=ObjectMeta(
            name="train",
            namespace="tenant-acme",
            generation=1,
            finalizers=list(finalizers),
            deletion_timestamp=NOW if deleted else None,
        ),
        spec=GPUClaimSpec(class_name="h100"),
        status=status or GPUClaimStatus(),
    )


def reasons(status: GPUClaimStatus) -> dict[str, tuple[str, str]]:
    return {condition.type: (condition.status, condition.reason) for condition in status.conditions}


def test_a_bound_claim_says_all_of_it_in_one_status() -> None:
    status = claim_status(a_claim(), Situation("n1"), now=NOW)

    assert (status.node_name, status.bound_at, status.observed_generation) == ("n1", NOW, 1)
    assert reasons(status) == {
        "Bound": ("True", "Allocated"),
        "Attached": ("False", "NeverAttached"),
        "Healthy": ("True", "Healthy"),
    }


def test_nothing_new_is_nothing_to_write() -> None:
    claim = a_claim(claim_status(a_claim(), Situation("n1"), now=NOW))

    assert difference(claim.status, claim_status(claim, Situation("n1"), now=LATER)) == {}


def test_a_stopped_vm_leaves_the_hold_where_it_is() -> None:
    running = a_claim(claim_status(a_claim(), Situation("n1", attached_to=VM), now=NOW))
    assert running.status.attached_to == VM

    stopped = claim_status(running, Situation("n1"), now=LATER)

    assert reasons(stopped)["Attached"] == ("False", "VirtualMachineOff")
    assert (stopped.node_name, stopped.bound_at) == ("n1", NOW)
    assert difference(running.status, stopped)["attachedTo"] is None


def test_a_claim_that_moves_is_bound_anew() -> None:
    claim = a_claim(claim_status(a_claim(), Situation("n1"), now=NOW))

    moved = claim_status(claim, Situation("n2"), now=LATER)

    assert (moved.node_name, moved.bound_at) == ("n2", LATER)


@pytest.mark.parametrize("reason", list(BoundReason)[1:])
def test_a_waiting_claim_says_why_and_where_it_no_longer_is(reason: BoundReason) -> None:
    claim = a_claim(claim_status(a_claim(), Situation("n1"), now=NOW))

    status = claim_status(claim, Situation(None, waits_for=reason), now=LATER)

    assert reasons(status)["Bound"] == ("False", reason.value)
    change = difference(claim.status, status)
    assert (change["nodeName"], change["boundAt"]) == (None, None)


@pytest.mark.parametrize("health", list(HealthyReason)[1:])
def test_an_ailing_hold_is_kept_and_says_what_ails_it(health: HealthyReason) -> None:
    status = claim_status(a_claim(), Situation("n1", health=health), now=NOW)

    assert reasons(status)["Healthy"] == ("False", health.value)
    assert status.node_name == "n1"


def test_refusals_stay_until_they_run_out() -> None:
    refused = RefusedNode(node_name="n1", reason="UnexpectedAdmissionError", expires_at=LATER)
    claim = a_claim(GPUClaimStatus(refused_nodes=[refused]))

    assert claim_status(claim, Situation("n2"), now=NOW).refused_nodes == [refused]
    assert claim_status(claim, Situation("n2"), now=LATER).refused_nodes == []


@pytest.mark.parametrize(
    ("finalizers", "is_attached", "deleted", "want"),
    [
        pytest.param((), True, False, [RELEASE_FINALIZER], id="attached: kept back"),
        pytest.param(("other",), True, False, ["other", RELEASE_FINALIZER], id="beside somebody else's"),
        pytest.param((RELEASE_FINALIZER,), True, True, None, id="releasing, the VM still runs"),
        pytest.param((RELEASE_FINALIZER, "other"), False, True, ["other"], id="the VM is gone"),
        pytest.param((RELEASE_FINALIZER,), False, False, [], id="the VM is off"),
        pytest.param((), True, True, None, id="too late to keep it back"),
        pytest.param((), False, False, None, id="unattached: goes at once"),
    ],
)
def test_only_a_claim_in_use_is_kept_back_from_deletion(
    finalizers: tuple[str, ...], is_attached: bool, deleted: bool, want: list[str] | None
) -> None:
    claim = a_claim(finalizers=finalizers, deleted=deleted)

    assert wanted_finalizers(claim, is_attached=is_attached) == want
