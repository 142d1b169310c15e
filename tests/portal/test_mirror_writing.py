"""One object at a time into the mirror: newer wins, whoever is late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gpu.resources import AttachedTo, GPUClaim
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NAMESPACES, PODS
from portal import mirror
from portal.mirror import Change, changes
from portal.models import ClaimRecord, ClassRecord, NamespaceRecord, NodeRecord, PodRecord, Tombstone
from tests.builders import ACME, a_claim, a_class, a_launcher, a_namespace, a_node, a_pod
from tests.portal.mirrored import at_version, raw, show

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)


@pytest.fixture
def heard() -> Iterator[list[Change]]:
    """What is told about claims."""
    told: list[Change] = []
    registered = {kind: list(callbacks) for kind, callbacks in changes._callbacks.items()}
    mirror.on_change(GPU_CLAIMS, told.extend)
    yield told
    changes._callbacks.clear()
    changes._callbacks.update(registered)


def a_bound_claim(version: int) -> GPUClaim:
    return at_version(a_claim(node="n1"), version)


def test_a_newer_state_replaces_an_older_one_and_never_the_other_way_round() -> None:
    assert mirror.apply(GPU_CLAIMS, raw(at_version(a_claim(), 9)))
    assert mirror.apply(GPU_CLAIMS, raw(a_bound_claim(10)))
    assert not mirror.apply(GPU_CLAIMS, raw(at_version(a_claim(), 9)))

    record = ClaimRecord.objects.get()
    assert (record.node_name, record.phase, record.version) == ("n1", "Held", 10)
    assert record.object.status.node_name == "n1"


def test_the_same_state_again_writes_nothing() -> None:
    show(a_bound_claim(10), at=NOW)

    with CaptureQueriesContext(connection) as queries:
        assert not mirror.apply(GPU_CLAIMS, raw(a_bound_claim(10)))

    assert not [q for q in queries if q["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert ClaimRecord.objects.get().mirrored_at == NOW


def test_what_is_gone_does_not_come_back_with_a_late_answer() -> None:
    claim = at_version(a_claim(), 9)
    show(claim)

    assert mirror.delete(GPU_CLAIMS, ACME, "one", uid=claim.metadata.uid)
    assert not mirror.apply(GPU_CLAIMS, raw(claim))

    assert not ClaimRecord.objects.exists()
    assert Tombstone.objects.get().uid == claim.metadata.uid


def test_what_went_before_it_was_seen_does_not_come_either() -> None:
    claim = at_version(a_claim(), 9)

    assert not mirror.delete(GPU_CLAIMS, ACME, "one", uid=claim.metadata.uid)

    assert not mirror.apply(GPU_CLAIMS, raw(claim))


def test_a_late_deletion_leaves_the_object_that_took_the_name() -> None:
    show(at_version(a_claim(uid="second"), 20))

    assert not mirror.delete(GPU_CLAIMS, ACME, "one", uid="first")

    assert ClaimRecord.objects.get().uid == "second"


def test_an_object_made_anew_under_its_name_replaces_the_old_row() -> None:
    show(at_version(a_claim(uid="first"), 9), at_version(a_claim(uid="second", gpus=2), 20))

    assert (ClaimRecord.objects.get().uid, ClaimRecord.objects.get().count) == ("second", 2)


def test_one_namespace_does_not_touch_the_other() -> None:
    show(a_claim("one", namespace="tenant-a"), a_claim("one", namespace="tenant-b"))

    mirror.delete(GPU_CLAIMS, "tenant-a", "one")

    assert [str(record) for record in ClaimRecord.objects.all()] == ["tenant-b/one"]


def test_every_change_is_told_once_with_both_states(heard: list[Change]) -> None:
    show(at_version(a_claim(), 9), a_bound_claim(10), a_bound_claim(10), at_version(a_claim(), 9))
    mirror.delete(GPU_CLAIMS, ACME, "one")

    nodes = [
        tuple(claim and claim.status.node_name for claim in (change.before, change.after)) for change in heard
    ]
    assert nodes == [(None, None), (None, "n1"), ("n1", None)]
    assert [(change.before is None, change.after is None) for change in heard] == [
        (True, False),
        (False, False),
        (False, True),
    ]


def test_whoever_cannot_take_a_change_undoes_the_write(heard: list[Change]) -> None:
    def refuse(changes: Sequence[Change]) -> None:
        raise RuntimeError("no history, no hold")

    mirror.on_change(GPU_CLAIMS, refuse)

    with pytest.raises(RuntimeError):
        show(a_claim())

    assert not ClaimRecord.objects.exists()


def test_of_pods_only_those_that_ask_for_devices_are_kept() -> None:
    show(
        a_pod("web", asks={"cpu": "1"}),
        a_pod("vm-without-gpu", asks={"devices.kubevirt.io/kvm": "1", "memory": "1Gi"}),
        a_pod("own", asks={"nvidia.com/gpu": "1"}),
        a_launcher("vm"),
    )

    assert sorted(PodRecord.objects.values_list("name", flat=True)) == ["own", "virt-launcher-vm"]
    assert not mirror.apply(PODS, raw(at_version(a_pod("web", asks={"cpu": "1"}), 2)))


def test_a_class_shows_its_effective_limit_and_unknown_capacity_as_unknown() -> None:
    from gpu.resources import Mode

    show(a_class("pass"), a_class("vgpu", mode=Mode.VGPU, profile="L40S-24C", memory="24Gi"))

    passthrough, vgpu = ClassRecord.objects.get(name="pass"), ClassRecord.objects.get(name="vgpu")
    assert (passthrough.max_count, vgpu.max_count) == (None, 1)
    assert (passthrough.free, passthrough.max_free_per_node, passthrough.is_served) == (None, None, None)
    assert vgpu.memory_bytes == 24 * 2**30


def test_text_that_a_database_cannot_store_does_not_stop_the_mirror() -> None:
    show(a_class("odd", display_name="a\x00b", memory="9e99"))

    record = ClassRecord.objects.get()
    assert record.display_name == "a\ufffdb"
    assert record.memory_bytes is None
    assert record.object.spec.display_name == "a\x00b"


def test_bytes_that_are_no_such_object_are_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        mirror.apply(GPU_CLASSES, b'{"metadata": {"name": "x"}}')


def test_phase_health_and_attachment_are_columns() -> None:
    show(
        a_claim("held", node="n1"),
        a_claim("waits"),
        a_claim("runs", node="n1", attached_to="vm-a"),
        a_claim("leaves", node="n1", releasing=True),
    )

    phases = dict(ClaimRecord.objects.values_list("name", "phase"))
    assert phases == {"held": "Held", "waits": "Waiting", "runs": "In use", "leaves": "Releasing"}
    assert ClaimRecord.objects.get(name="runs").attached_name == "vm-a"
    assert [claim.name for claim in ClaimRecord.objects.waiting()] == ["waits"]
    assert ClaimRecord.objects.alive().count() == 3
    assert AttachedTo(kind="VirtualMachineInstance", name="vm-a", uid="vmi-vm-a") == (
        ClaimRecord.objects.get(name="runs").object.status.attached_to
    )


def test_a_node_shows_its_state_and_taints_as_kubectl_writes_them() -> None:
    from gpu.corekinds import Taint

    taints = [
        Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule"),
        Taint(key="x", effect="NoExecute"),
    ]
    show(a_node("n1", taints=taints, cordoned=True), a_node("n2", ready=False))

    n1 = NodeRecord.objects.get(name="n1")
    assert (n1.ready, n1.cordoned) == (True, True)
    assert n1.taints == "nvidia.com/gpu=present:NoSchedule\nx:NoExecute"
    assert not NodeRecord.objects.get(name="n2").ready
    assert not NodeRecord.objects.usable().exists()


def test_a_namespace_knows_its_tenants_above() -> None:
    show(
        a_namespace("tenant-acme-lab", ancestors=["tenant-root", "tenant-acme"]),
        a_namespace("tenant-acme", ancestors=["tenant-root"]),
        a_namespace("tenant-root"),
    )
    plain = at_version(a_namespace("kube-system"), 1, labels={})
    mirror.apply(NAMESPACES, raw(plain))

    parents = dict(NamespaceRecord.objects.tenants().values_list("name", "parent"))
    assert parents == {"tenant-acme-lab": "tenant-acme", "tenant-acme": "tenant-root", "tenant-root": ""}
