"""Objects for tests: the smallest valid ones, with what a test cares about said at the call.

``a_launcher`` is the pod of a running VM as KubeVirt makes it. Names repeat where the test names none, uids are derived from
names: the same call gives an equal object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from gpu.corekinds import (
    Container,
    ContainerResources,
    Namespace,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodSpec,
    PodStatus,
    ResourceQuota,
    ResourceQuotaSpec,
    Taint,
)
from gpu.resources import (
    CLAIMS_ANNOTATION,
    AttachedTo,
    Condition,
    DevicePluginSource,
    GPUClaim,
    GPUClaimSpec,
    GPUClaimStatus,
    GPUClass,
    GPUClassSource,
    GPUClassSpec,
    Mode,
    OnCordon,
    RefusedNode,
    Toleration,
)

NOON = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)
L40S = "nvidia.com/AD102GL_L40S"
ACME = "tenant-acme"


def a_class(
    name: str = "l40s",
    *,
    resource: str = L40S,
    mode: Mode = Mode.PASSTHROUGH,
    max_count: int | None = None,
    selector: Mapping[str, str] | None = None,
    tolerations: Sequence[Toleration] | None = None,
    on_cordon: OnCordon = OnCordon.MOVE,
    vendor: str = "nvidia",
    model: str = "L40S",
    profile: str | None = None,
    memory: str | int | None = "48Gi",
    display_name: str | None = None,
    uid: str | None = None,
) -> GPUClass:
    return GPUClass(
        metadata=ObjectMeta(name=name, uid=uid or f"class-{name}", generation=1, creation_timestamp=NOON),
        spec=GPUClassSpec(
            vendor=vendor,
            model=model,
            mode=mode,
            profile=profile,
            source=GPUClassSource(device_plugin=DevicePluginSource(resource_name=resource)),
            display_name=display_name,
            memory=memory,
            max_count=max_count,
            node_selector=dict(selector) if selector is not None else None,
            tolerations=list(tolerations) if tolerations is not None else None,
            on_cordon=on_cordon,
        ),
    )


def a_claim(
    name: str = "one",
    *,
    gpus: int = 1,
    of: str = "l40s",
    namespace: str = ACME,
    set_name: str | None = None,
    node: str | None = None,
    attached_to: str | None = None,
    refused: Iterable[RefusedNode] = (),
    conditions: Iterable[Condition] = (),
    releasing: bool = False,
    created_at: datetime = NOON,
    uid: str | None = None,
) -> GPUClaim:
    return GPUClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"claim-{namespace}-{name}",
            generation=1,
            creation_timestamp=created_at,
            deletion_timestamp=NOON if releasing else None,
        ),
        spec=GPUClaimSpec(class_name=of, count=gpus, set_name=set_name),
        status=GPUClaimStatus(
            node_name=node,
            bound_at=NOON if node else None,
            attached_to=AttachedTo(kind="VirtualMachineInstance", name=attached_to, uid=f"vmi-{attached_to}")
            if attached_to
            else None,
            refused_nodes=list(refused),
            conditions=list(conditions),
        ),
    )


def a_node(
    name: str = "n1",
    *,
    gpus: int | str = 8,
    resource: str = L40S,
    allocatable: Mapping[str, int | str] | None = None,
    capacity: Mapping[str, int | str] | None = None,
    ready: bool | str | None = True,
    cordoned: bool = False,
    taints: Iterable[Taint] = (),
    labels: Mapping[str, str] | None = None,
    schedulable: bool = True,
    deleting: bool = False,
) -> Node:
    """``gpus`` of ``resource``, or exactly ``allocatable`` (and ``capacity``, else the same). ``ready=None``: no conditions."""
    offered: dict[str, str | int] = dict(allocatable) if allocatable is not None else {resource: str(gpus)}
    status = ready if isinstance(ready, str) else str(bool(ready))
    return Node(
        metadata=ObjectMeta(
            name=name,
            uid=f"node-{name}",
            labels=({"kubevirt.io/schedulable": "true"} if schedulable else {}) | dict(labels or {}),
            deletion_timestamp=NOON if deleting else None,
        ),
        spec=NodeSpec(unschedulable=cordoned, taints=list(taints) or None),
        status=NodeStatus(
            allocatable=offered,
            capacity=dict(capacity) if capacity is not None else dict(offered),
            conditions=None if ready is None else [NodeCondition(type="Ready", status=status)],
        ),
    )


def a_pod(
    name: str = "pod",
    *,
    gpus: int | str = 1,
    resource: str = L40S,
    asks: Mapping[str, int | str] | None = None,
    node: str = "n1",
    namespace: str = "default",
    phase: str = "Running",
    terminating: bool = False,
    annotations: Mapping[str, str] | None = None,
    owners: Iterable[OwnerReference] = (),
    created_at: datetime = NOON,
    uid: str | None = None,
) -> Pod:
    """A pod that asks for GPUs by itself. ``node=""``: not scheduled yet."""
    requests: dict[str, str | int] = dict(asks) if asks is not None else {resource: str(gpus)}
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"pod-{namespace}-{name}",
            creation_timestamp=created_at,
            deletion_timestamp=NOON if terminating else None,
            annotations=dict(annotations or {}),
            owner_references=list(owners),
        ),
        spec=PodSpec(
            node_name=node,
            containers=[
                Container(
                    name="compute", resources=ContainerResources(requests=requests, limits=dict(requests))
                )
            ],
        ),
        status=PodStatus(phase=phase),
    )


def a_launcher(
    vm: str = "vm",
    *,
    claims: Iterable[str] = ("one",),
    gpus: int | str = 1,
    resource: str = L40S,
    asks: Mapping[str, int | str] | None = None,
    node: str = "n1",
    namespace: str = ACME,
    phase: str = "Running",
    terminating: bool = False,
    name: str | None = None,
    created_at: datetime = NOON,
    uid: str | None = None,
) -> Pod:
    """The pod that runs a VM with these claims."""
    return a_pod(
        name or f"virt-launcher-{vm}",
        gpus=gpus,
        resource=resource,
        asks=asks,
        node=node,
        namespace=namespace,
        phase=phase,
        terminating=terminating,
        annotations={CLAIMS_ANNOTATION: ",".join(claims)},
        owners=[
            OwnerReference(
                api_version="kubevirt.io/v1",
                kind="VirtualMachineInstance",
                name=vm,
                uid=f"vmi-{vm}",
                controller=True,
            )
        ],
        created_at=created_at,
        uid=uid,
    )


def a_quota(
    hard: Mapping[str, int | str],
    *,
    name: str = "tenant-quota",
    namespace: str = ACME,
    scopes: Iterable[str] = (),
    labels: Mapping[str, str] | None = None,
) -> ResourceQuota:
    """``hard`` with whole keys, as in the object: ``{"gpu.cozystack.io/l40s": 4}``."""
    return ResourceQuota(
        metadata=ObjectMeta(
            name=name, namespace=namespace, uid=f"quota-{namespace}-{name}", labels=dict(labels or {})
        ),
        spec=ResourceQuotaSpec(hard=dict(hard), scopes=list(scopes)),
    )


def a_namespace(name: str = ACME, *, ancestors: Iterable[str] = ()) -> Namespace:
    """A tenant's namespace below its ancestors. Itself is among its labels, as the platform writes them."""
    labels = {f"tenant.cozystack.io/{ancestor}": "" for ancestor in (*ancestors, name)}
    return Namespace(
        metadata=ObjectMeta(name=name, uid=f"ns-{name}", labels=labels),
    )


def refusal_of(node: str, *, until: datetime, reason: str = "UnexpectedAdmissionError") -> RefusedNode:
    return RefusedNode(node_name=node, reason=reason, expires_at=until)
