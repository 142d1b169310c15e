"""What the ledger keeps for one claim, or for an order that was admitted and whose claim has not arrived yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from sys import intern
from typing import TYPE_CHECKING

from gpu.fit import Order
from gpu.resources import GPUClaimSpec, RefusedNode

if TYPE_CHECKING:
    from gpu.attachment import LivePod
    from gpu.cells import Tally

ClaimKey = tuple[str, str]
"""Namespace and name of a claim."""


class Hold:
    """The units of one claim and where they are charged.

    ``node`` is what the claim's status says, ``planned`` what the ledger decided and nobody wrote yet; both are charged. A
    reservation is a hold without a name that has only a planned node and expires.
    """

    __slots__ = (
        "at_node",
        "at_planned",
        "class_name",
        "created_at",
        "expires_at",
        "in_use_at",
        "is_claim",
        "is_listed",
        "is_releasing",
        "key",
        "name",
        "namespace",
        "node",
        "planned",
        "pod",
        "refused",
        "set_name",
        "uid",
        "units",
        "waits",
    )

    def __init__(self, *, namespace: str, name: str, uid: str, spec: GPUClaimSpec) -> None:
        # A hundred thousand claims name a few classes, tenants and nodes: one string each, which is also faster to look up.
        namespace = intern(namespace)
        self.namespace = namespace
        self.name = name
        self.key: ClaimKey = (namespace, name)
        self.is_claim = bool(name)
        self.uid = uid
        self.class_name = intern(spec.class_name)
        self.units = spec.count
        self.set_name = spec.set_name
        self.created_at: datetime | None = None
        self.is_releasing = False
        self.refused: Sequence[RefusedNode] = ()
        self.node: str | None = None
        self.planned: str | None = None
        self.expires_at = 0.0
        self.pod: LivePod | None = None
        # Where the units are counted right now; only the book changes these.
        self.is_listed = False
        self.at_node: Tally | None = None
        self.at_planned: Tally | None = None
        self.in_use_at: Tally | None = None
        self.waits = False

    @property
    def location(self) -> str | None:
        """The node where it is or is about to be."""
        return self.planned or self.node

    def asks_for(self, namespace: str, spec: GPUClaimSpec) -> bool:
        """Say whether the hold is for exactly this order."""
        return (
            self.class_name == spec.class_name
            and self.units == spec.count
            and self.set_name == spec.set_name
            and self.namespace == namespace
        )

    def refuses(self, now: datetime | None) -> frozenset[str]:
        """Name the nodes that must not be tried yet. Without a time, none of the refusals has expired."""
        if not self.refused:
            return frozenset()
        return frozenset(entry.node_name for entry in self.refused if now is None or entry.expires_at > now)


def hold_for_order(uid: str, order: Order, *, expires_at: float) -> Hold:
    """Make the hold of a reservation."""
    spec = GPUClaimSpec(class_name=order.class_name, count=order.count, set_name=order.set_name)
    hold = Hold(namespace=order.namespace, name="", uid=uid, spec=spec)
    hold.expires_at = expires_at
    return hold


def common_node(members: Iterable[Hold]) -> str | None:
    """Give the node that the members of a set share; should they be apart, where most of the bound ones are."""
    bound, planned = Counter[str](), Counter[str]()
    for member in members:
        if member.planned is not None:
            planned[member.planned] += 1
        elif member.node is not None:
            bound[member.node] += 1
    counted = bound or planned
    return min(counted, key=lambda node: (-counted[node], node), default=None)
