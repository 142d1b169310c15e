"""GPUClass documents, good and bad: every bound and pattern at its edges, every rule both ways, and generated mutations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kube.kinds import GPU_CLASSES
from tests.cluster import edges
from tests.cluster.mutations import mutations

Spec = dict[str, Any]

PASSTHROUGH: Final[Spec] = {
    "vendor": "NVIDIA",
    "model": "L40S",
    "mode": "passthrough",
    "source": {"devicePlugin": {"resourceName": "nvidia.com/AD102GL_L40S"}},
}
VGPU: Final[Spec] = PASSTHROUGH | {
    "mode": "vgpu",
    "profile": "L40S-24Q",
    "displayName": "L40S, half of it",
    "memory": "24Gi",
    "maxCount": 2,
    "nodeSelector": {"pool": "gpu", "zone": "a"},
    "onCordon": "Stay",
    "tolerations": [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {
            "key": "drain",
            "operator": "Equal",
            "value": "soon",
            "effect": "NoExecute",
            "tolerationSeconds": 60,
        },
    ],
}


@dataclass(frozen=True)
class Document:
    """One document as it goes over the wire. ``before`` is the spec of the object that it is to replace."""

    label: str
    body: bytes
    before: Spec | None = None

    @property
    def name(self) -> str:
        """Give the name of a document that is an update."""
        return str(json.loads(self.body)["metadata"]["name"])


def corpus() -> list[Document]:
    """Give all documents, the same and in the same order every time."""
    found = [*_names(), *_fields(), *_whole(), *_raw(), *_updates(), *_generated()]
    labels = [document.label for document in found]
    assert len(set(labels)) == len(labels), "two documents of one label"
    return found


def _document(
    label: str, spec: Any = None, *, name: Any = "offer", before: Spec | None = None, **top: Any
) -> Document:
    body = {
        "apiVersion": GPU_CLASSES.api_version,
        "kind": GPU_CLASSES.name,
        "metadata": {"name": name},
        "spec": PASSTHROUGH if spec is None else spec,
        **top,
    }
    return Document(label, json.dumps(body).encode(), before)


def _names() -> Iterator[Document]:
    for index, name in enumerate(edges.NAMES):
        yield _document(f"name[{index}] {name!r:.60}", name=name)
    yield _document("name and spec both wrong", PASSTHROUGH | {"model": ""}, name="A.b")
    yield _document("reserved name and a missing field", {**PASSTHROUGH, "vendor": None}, name="total")


def _fields() -> Iterator[Document]:
    for label, values in edges.FIELDS.items():
        for index, value in enumerate(values):
            yield _document(f"{label}[{index}] {value!r:.60}", PASSTHROUGH | {label: value})
    for index, value in enumerate(edges.RESOURCE_NAMES):
        source = {"devicePlugin": {"resourceName": value}}
        yield _document(f"resourceName[{index}] {value!r:.60}", PASSTHROUGH | {"source": source})
    for index, value in enumerate(edges.TOLERATIONS):
        yield _document(f"toleration[{index}] {value!r:.60}", PASSTHROUGH | {"tolerations": [value]})
    for field, values in edges.TOLERATION_FIELDS.items():
        for index, value in enumerate(values):
            toleration = {"key": "pool", "operator": "Equal", "effect": "NoExecute", field: value}
            yield _document(
                f"tolerations.{field}[{index}] {value!r:.60}", PASSTHROUGH | {"tolerations": [toleration]}
            )
    for mode in ("passthrough", "vgpu"):
        for index, profile in enumerate(edges.PROFILES):
            spec = PASSTHROUGH | {"mode": mode} | ({} if profile is edges.ABSENT else {"profile": profile})
            yield _document(f"{mode} with profile[{index}] {profile!r:.60}", spec)


def _whole() -> Iterator[Document]:
    yield _document("minimal")
    yield _document("full", VGPU)
    for field in PASSTHROUGH:
        yield _document(
            f"without {field}", {key: value for key, value in PASSTHROUGH.items() if key != field}
        )
    for index, spec in enumerate(edges.SPECS):
        yield _document(f"spec[{index}] {spec!r:.40}", spec)
    for index, top in enumerate(edges.TOPS):
        yield _document(f"top[{index}] {top!r:.60}", **top)
    for index, metadata in enumerate(edges.METADATA):
        yield _document(f"metadata[{index}] {metadata!r:.60}", metadata=metadata)


def _raw() -> Iterator[Document]:
    good = _document("good").body.decode()
    for label, old, new in edges.RAW:
        assert old in good, label
        yield Document(label, good.replace(old, new, 1).encode())


def _updates() -> Iterator[Document]:
    for label, before, changes in edges.UPDATES:
        base = {"passthrough": PASSTHROUGH, "vgpu": VGPU}[before]
        spec = {key: value for key, value in (base | changes).items() if value is not edges.ABSENT}
        yield _document(f"update: {label}", spec, name="before", before=base)


def _generated() -> Iterable[Document]:
    for label, spec in mutations([PASSTHROUGH, VGPU], count=240):
        yield _document(label, spec)
