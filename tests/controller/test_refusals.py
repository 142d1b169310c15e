from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controller.refusals import MAX_REFUSED_NODES, RefusalMemory, refusal_in, with_refusal
from gpu.corekinds import ObjectMeta, OwnerReference, Pod, PodSpec, PodStatus
from gpu.resources import CLAIMS_ANNOTATION, RefusedNode

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
LONG = timedelta(seconds=300)


def a_launcher(
    *,
    phase: str = "Failed",
    reason: str = "UnexpectedAdmissionError",
    node: str = "n1",
    owner: str = "VirtualMachineInstance",
    claims: str = "train, serve",
) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name="virt-launcher-train-x",
            namespace="tenant-acme",
            uid="pod-uid",
            creation_timestamp=NOW - timedelta(seconds=100),
            annotations={CLAIMS_ANNOTATION: claims} if claims else {},
            owner_references=[OwnerReference(kind=owner, name="train", uid="vm-uid", controller=True)],
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase, reason=reason),
    )


@pytest.mark.parametrize(
    "reason", ["UnexpectedAdmissionError", "OutOfnvidia.com/gpu", "TopologyAffinityError"]
)
def test_a_launcher_the_kubelet_rejected_is_a_refusal(reason: str) -> None:
    refusal = refusal_in(a_launcher(reason=reason))

    assert refusal is not None
    assert (refusal.node_name, refusal.reason) == ("n1", reason)
    assert refusal.claims == (("tenant-acme", "train"), ("tenant-acme", "serve"))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_launcher(phase="Pending", reason="Unschedulable"), id="not scheduled yet"),
        pytest.param(a_launcher(reason="Evicted"), id="evicted"),
        pytest.param(a_launcher(reason=""), id="the guest crashed"),
        pytest.param(a_launcher(phase="Succeeded"), id="ended"),
        pytest.param(a_launcher(node=""), id="no node"),
        pytest.param(a_launcher(owner="ReplicaSet"), id="no launcher"),
        pytest.param(a_launcher(claims=""), id="names no claim"),
    ],
)
def test_everything_else_is_none(pod: Pod) -> None:
    assert refusal_in(pod) is None


def test_a_refusal_seen_as_it_happens_counts_from_now() -> None:
    refusal = refusal_in(a_launcher())
    assert refusal is not None

    assert RefusalMemory(seconds=300).expires_at(refusal, now=NOW, is_new=True) == NOW + LONG


def test_a_refusal_found_at_start_counts_from_the_creation_of_the_pod() -> None:
    refusal = refusal_in(a_launcher())
    assert refusal is not None

    assert RefusalMemory(seconds=300).expires_at(refusal, now=NOW, is_new=False) == NOW + timedelta(
        seconds=200
    )


def test_a_failed_pod_that_lies_around_does_not_refuse_for_ever() -> None:
    refusal = refusal_in(a_launcher())
    assert refusal is not None
    memory = RefusalMemory(seconds=300)
    first = memory.expires_at(refusal, now=NOW, is_new=True)

    assert memory.expires_at(refusal, now=NOW + LONG, is_new=True) == first


def test_a_node_is_listed_once_and_what_has_run_out_is_dropped() -> None:
    old = [
        RefusedNode(node_name="n1", reason="OutOfcpu", expires_at=NOW + LONG),
        RefusedNode(node_name="n2", reason="OutOfcpu", expires_at=NOW),
    ]
    new = RefusedNode(node_name="n1", reason="TopologyAffinityError", expires_at=NOW + 2 * LONG)

    assert with_refusal(old, new, now=NOW) == [new]


def test_the_list_never_grows_beyond_what_the_schema_allows() -> None:
    old = [
        RefusedNode(node_name=f"n{i}", reason="OutOfcpu", expires_at=NOW + LONG + timedelta(seconds=i))
        for i in range(MAX_REFUSED_NODES)
    ]
    new = RefusedNode(node_name="new", reason="OutOfcpu", expires_at=NOW + 2 * LONG)

    kept = with_refusal(old, new, now=NOW)

    assert len(kept) == MAX_REFUSED_NODES
    assert new in kept
    assert old[0] not in kept
