"""Offers and nodes as files. The same rows and the same words as on the page, without its limit of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import msgspec
from django.http import StreamingHttpResponse

from catalog.node_rows import node_rows
from catalog.offer_rows import offer_rows
from portal.export import as_yaml, csv_file, without_noise, yaml_file
from portal.models import ClassRecord, NodeRecord, Record

OFFER_HEADS: Final = (
    "offer",
    "title",
    "what it is",
    "resource",
    "state",
    "units",
    "in use",
    "held",
    "foreign",
    "out of service",
    "free",
    "biggest order",
)
NODE_HEADS: Final = (
    "node",
    "state",
    "resource",
    "units",
    "in use",
    "held",
    "foreign",
    "free",
    "note",
    "taints",
)
_SERVERS_OWN: Final = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"}
)


def offers_file(chunks: Iterable[Sequence[ClassRecord]], form: str) -> StreamingHttpResponse:
    """Give the offers: ``yaml`` is what kubectl apply takes, on this cluster or another. What is unknown is empty in CSV."""
    if form == "yaml":
        return yaml_file("offers", map(_to_apply, chain.from_iterable(chunks)))
    rows = (
        (
            row.name,
            row.title,
            row.facts,
            row.resource,
            row.state.word,
            row.units,
            row.in_use,
            row.held,
            row.foreign,
            row.out_of_service,
            row.free,
            row.biggest,
        )
        for row in chain.from_iterable(map(offer_rows, chunks))
    )
    return csv_file("offers", OFFER_HEADS, rows)


def nodes_file(chunks: Iterable[Sequence[NodeRecord]], form: str) -> StreamingHttpResponse:
    """Give the nodes: in CSV a line for each resource, in YAML the objects as the cluster has them."""
    if form == "yaml":
        return yaml_file("nodes", (as_yaml(_body_of(record)) for record in chain.from_iterable(chunks)))
    return csv_file("nodes", NODE_HEADS, _node_lines(chunks))


def _node_lines(chunks: Iterable[Sequence[NodeRecord]]) -> Iterator[tuple[object, ...]]:
    for row in chain.from_iterable(map(node_rows, chunks)):
        taints = " ".join(row.taints)
        for cell in row.cells:
            numbers = (cell.capacity, cell.in_use, cell.held, cell.foreign, cell.free)
            yield (row.name, row.state.word, cell.resource, *numbers, cell.note, taints)
        if not row.cells:
            yield (row.name, row.state.word, "", 0, 0, 0, 0, 0, "no GPUs advertised", taints)


def _body_of(record: Record) -> Mapping[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(bytes(record.body))
    kind = record.KIND
    return {"apiVersion": kind.api_version, "kind": kind.name, **without_noise(body)}


def _to_apply(record: ClassRecord) -> str:
    body = dict(_body_of(record))
    body.pop("status", None)
    body["metadata"] = {
        name: value for name, value in body.get("metadata", {}).items() if name not in _SERVERS_OWN
    }
    return as_yaml(body)
