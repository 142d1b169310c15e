"""What would become of the holds of a node if it were cordoned and drained: a look ahead, from the mirror. Nothing is promised by it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gpu.corekinds import Node
from gpu.eligibility import serves
from gpu.resources import GPUClass, OnCordon
from portal.models import ClaimRecord, ClassRecord, NodeRecord, NodeStock
from portal.pills import Pill

AT_ONCE: Final = 100
"""How many nodes are looked at in one query; mostly the first one fits."""

_STOP: Final = Pill("Will stop", "power", "low")
_MOVE: Final = Pill("Would move", "arrow-right", "use")
_STAY: Final = Pill("Would stay", "pin", "unknown")
_LEAVING: Final = Pill("Leaving", "rotate-ccw", "unknown")


@dataclass(frozen=True)
class Fate:
    """What would happen to one hold, and why."""

    pill: Pill
    words: str


def fates(node_name: str, claims: Sequence[ClaimRecord]) -> dict[int, Fate]:
    """Give the fate of each hold by its key. Holds of one set go together, in the order in which they were ordered."""
    if not claims:
        return {}
    names = {claim.class_name for claim in claims}
    offers = {record.name: record.object for record in ClassRecord.objects.filter(name__in=names)}
    elsewhere = _Elsewhere(node_name, {offer.resource_name for offer in offers.values()})
    found: dict[int, Fate] = {}
    for group in _groups(claims):
        found |= _of_group(group, offers, elsewhere)
    return found


def _groups(claims: Iterable[ClaimRecord]) -> Iterator[list[ClaimRecord]]:
    groups: dict[tuple[str, str, bool], list[ClaimRecord]] = defaultdict(list)
    for claim in claims:
        groups[claim.namespace, claim.set_name or claim.name, bool(claim.set_name)].append(claim)
    yield from groups.values()


def _of_group(
    group: list[ClaimRecord], offers: Mapping[str, GPUClass], elsewhere: _Elsewhere
) -> dict[int, Fate]:
    leaving = {claim.pk: Fate(_LEAVING, "it is being released") for claim in group if claim.deleting_since}
    running = {
        claim.pk: Fate(_STOP, f"VM {claim.attached_name} stops when the node is drained")
        for claim in group
        if claim.attached_name and claim.pk not in leaving
    }
    rest = [claim for claim in group if claim.pk not in leaving and claim.pk not in running]
    fate = _of_unattached(rest, offers, elsewhere, has_running=bool(running)) if rest else None
    return {**leaving, **running, **({claim.pk: fate for claim in rest} if fate else {})}


def _of_unattached(
    group: list[ClaimRecord], offers: Mapping[str, GPUClass], elsewhere: _Elsewhere, *, has_running: bool
) -> Fate:
    if has_running:
        return Fate(_STAY, "a VM runs with another hold of its set")
    known = [offers[claim.class_name] for claim in group if claim.class_name in offers]
    if len(known) < len(group):
        return Fate(_STAY, "its offer no longer exists")
    if any(offer.spec.on_cordon is OnCordon.STAY for offer in known):
        return Fate(_STAY, "its offer says so")
    needs: Counter[str] = Counter()
    for claim, offer in zip(group, known, strict=True):
        needs[offer.resource_name] += claim.count
    target = elsewhere.take(needs, known)
    return Fate(_MOVE, f"to {target}") if target else Fate(_STAY, "no other node has room")


@dataclass
class _Elsewhere:
    """What is free on the other nodes. What a hold would take is gone for the next one."""

    node_name: str
    resources: set[str]
    free: dict[str, Counter[str]] = field(init=False)
    _nodes: dict[str, Node | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.free = defaultdict(Counter)
        cells = NodeStock.objects.filter(resource__in=self.resources, free__gt=0).exclude(node=self.node_name)
        for name, resource, free in cells.order_by("node").values_list("node", "resource", "free"):
            self.free[name][resource] = free

    def take(self, needs: Counter[str], offers: Sequence[GPUClass]) -> str:
        """Give the node that would be left with least, "" when none fits."""
        roomy = sorted(
            (sum(free[name] for name in needs), node) for node, free in self.free.items() if needs <= free
        )
        for start in range(0, len(roomy), AT_ONCE):
            names = [name for _, name in roomy[start : start + AT_ONCE]]
            self._fetch(names)
            for name in names:
                node = self._nodes[name]
                if node is not None and all(serves(offer, node).serves for offer in offers):
                    self.free[name] -= needs
                    return name
        return ""

    def _fetch(self, names: Sequence[str]) -> None:
        missing = [name for name in names if name not in self._nodes]
        if missing:
            self._nodes |= dict.fromkeys(missing)
            usable = NodeRecord.objects.usable().filter(name__in=missing).order_by("name")
            self._nodes |= {record.name: record.object for record in usable}
