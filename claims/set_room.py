"""What is free for another claim of a set that is on a node already.

The class status says nothing about one node, so the node of the set is counted here by the ledger's own rules, from the rows of
that node alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from claims.orders import OrderSpec
from gpu.ledger import Ledger
from portal.models import ClaimRecord, ClassRecord, NodeRecord, PodRecord


def free_on_set_node(spec: OrderSpec, offers: Iterable[ClassRecord]) -> Mapping[str, int | None]:
    """Give for each offer what is free on the set's node; empty when the order names no set or the set is new."""
    if not spec.set_name:
        return {}
    members = list(ClaimRecord.objects.of_set(spec.namespace, spec.set_name).in_order())
    if not members:
        return {}
    nodes = {member.node_name for member in members if member.node_name}
    ledger = Ledger()
    for offer in offers:
        ledger.set_class(offer.object)
    for node in NodeRecord.objects.filter(name__in=nodes):
        ledger.set_node(node.object)
    for claim in (*members, *ClaimRecord.objects.filter(node_name__in=nodes)):
        ledger.set_claim(claim.object)
    for pod in PodRecord.objects.filter(node_name__in=nodes):
        ledger.set_pod(pod.object)
    return {
        offer.name: ledger.capacity(
            offer.name, namespace=spec.namespace, set_name=spec.set_name
        ).free_on_set_node
        for offer in offers
    }
