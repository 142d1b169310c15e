"""A checker that is told what a test makes up, and a clock that only the test moves."""

from __future__ import annotations

from typing import Any

from bench.oversell.checker import Checker, Order
from bench.oversell.feed import Told
from bench.oversell.findings import Wrong
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NODES, AnyKind

GPU = "example.org/gpu"
ACME, CHILD = "tenant-acme", "tenant-acme-lab"


class Stage:
    """A checker, and a clock that only the test moves."""

    def __init__(self) -> None:
        self.checker = Checker(sight_seconds=1)
        self.now = 100.0

    def tell(self, kind: AnyKind, body: dict[str, Any], *, type_: str = "MODIFIED") -> None:
        self.checker.take(Told(kind, self.now, type_, body))

    def node(self, name: str = "n1", units: int = 4, **spec: Any) -> None:
        status = {
            "allocatable": {GPU: str(units)},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        labels = {"kubevirt.io/schedulable": "true"}
        self.tell(NODES, {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status})

    def offer(
        self, name: str = "gpu", *, free: int | None = None, most: int | None = None, **more: Any
    ) -> None:
        spec = {"mode": "passthrough", "source": {"devicePlugin": {"resourceName": GPU}}, **more}
        status = {} if free is None else {"free": free, "maxFreePerNode": most}
        self.tell(GPU_CLASSES, {"metadata": {"name": name}, "spec": spec, "status": status})

    def claim(
        self,
        name: str,
        count: int = 1,
        *,
        node: str | None = "n1",
        namespace: str = ACME,
        uid: str = "",
        set_name: str | None = None,
        type_: str = "MODIFIED",
    ) -> None:
        body = claim_of(name, count, node=node, namespace=namespace, uid=uid)
        if set_name:
            body["spec"]["setName"] = set_name
        self.tell(GPU_CLAIMS, body, type_=type_)

    def admit(self, name: str, count: int = 1, *, class_name: str = "gpu", **options: Any) -> None:
        order = Order((ACME, name), class_name, count, **options)
        self.checker.asked(order, at=self.now)
        self.checker.created(order, f"uid-{name}", at=self.now)

    def ask(self, name: str, count: int = 1, **options: Any) -> Order:
        order = Order((ACME, name), "gpu", count, **options)
        self.checker.asked(order, at=self.now)
        return order

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.checker.close(at=self.now)

    @property
    def found(self) -> dict[Wrong, int]:
        return dict(self.checker.findings.counts)


def claim_of(
    name: str, count: int = 1, *, node: str | None = "n1", namespace: str = ACME, uid: str = ""
) -> dict[str, Any]:
    return {
        "metadata": {"namespace": namespace, "name": name, "uid": uid or f"uid-{name}"},
        "spec": {"className": "gpu", "count": count},
        "status": {"nodeName": node} if node else {},
    }


def quota_of(namespace: str, hard: dict[str, str], used: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"namespace": namespace, "name": "gpus"},
        "spec": {"hard": hard},
        "status": {"used": used or {}},
    }
