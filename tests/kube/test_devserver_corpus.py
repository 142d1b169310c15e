"""The GPUClass CRD and the given one judge a corpus of good and bad objects alike: same verdict, same words."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kube.devserver.schema import Schema

ROOT = Path(__file__).resolve().parents[2]
SEED = Path(os.environ.get("GPU_PORTAL_SHARED") or ROOT.parent / "shared") / "seed" / "gpuclass-crd.yaml"

pytestmark = pytest.mark.skipif(
    not SEED.is_file(), reason="the given GPUClass schema is not beside this checkout (set GPU_PORTAL_SHARED)"
)

GOOD: dict[str, Any] = {
    "apiVersion": "gpu.cozystack.io/v1alpha1",
    "kind": "GPUClass",
    "metadata": {"name": "l40s"},
    "spec": {
        "vendor": "NVIDIA",
        "model": "L40S",
        "mode": "vgpu",
        "profile": "L40S-24C",
        "memory": "24Gi",
        "maxCount": 2,
        "displayName": "L40S, half",
        "nodeSelector": {"pool": "gpu"},
        "onCordon": "Stay",
        "source": {"devicePlugin": {"resourceName": "nvidia.com/L40S-24C"}},
        "tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoExecute", "tolerationSeconds": 5}
        ],
    },
    "status": {
        "free": 3,
        "maxFreePerNode": 2,
        "conditions": [
            {
                "type": "Served",
                "status": "True",
                "reason": "Served",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "observedGeneration": 1,
            }
        ],
    },
}  # fmt: skip
ODD_VALUES: list[Any] = [
    None, "", "x", "a b", "a\n", "é" * 63, "x" * 64, "x" * 318, 0, 1, -1, 1.0, 1.5, 2**31, 2**63, True, [], {}, ["x"],
    {"x": "y"}, {"dra": {}}, "Exists", "NoSchedule", "passthrough", "gpu.cozystack.io/total", "nvidia.com/gpu", "1e3", "10Mi",
]  # fmt: skip


@cache
def schema(path: Path) -> Schema:
    (version,) = yaml.safe_load(path.read_text())["spec"]["versions"]
    return Schema(version["schema"]["openAPIV3Schema"])


@pytest.fixture(scope="module")
def seed() -> Schema:
    return schema(SEED)


@pytest.fixture(scope="module")
def ours() -> Schema:
    return schema(ROOT / "deploy" / "crds" / "gpuclass.yaml")


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the path of everything in an object."""
    if path:
        yield path
    children = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    for key, below in children:
        yield from places(below, (*path, key))


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    content = copy.deepcopy(GOOD)
    node: Any = content
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = copy.deepcopy(value)
    return content


def judged(schema: Schema, content: dict[str, Any], old: dict[str, Any] | None) -> tuple[Any, ...]:
    content = copy.deepcopy(content)
    unknown = schema.clean(content)
    return unknown, [str(fault) for fault in schema.faults(content, old, already=[])], content


PLACES = [path for path in places(GOOD) if path[0] in ("spec", "status")]


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_both_say_the_same_of_every_odd_value_at_every_place(
    seed: Schema, ours: Schema, path: tuple[Any, ...]
) -> None:
    for value in ODD_VALUES:
        for old in (None, GOOD):
            content = changed(path, value)
            assert judged(ours, content, old) == judged(seed, content, old)


def test_the_good_object_is_good(seed: Schema) -> None:
    assert judged(seed, GOOD, None)[:2] == ([], [])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(ODD_VALUES)), max_size=3),
    st.sampled_from(["a", "total", "a.b", "x" * 64, "A"]),
)
def test_both_say_the_same_of_several_faults_at_once(
    changes: list[tuple[tuple[Any, ...], Any]], name: str
) -> None:
    content = copy.deepcopy(GOOD)
    content["metadata"]["name"] = name
    for path, value in changes:
        node: Any = content
        for step in path[:-1]:
            node = node[step] if isinstance(node, dict | list) and _has(node, step) else None
        if isinstance(node, dict):
            node[path[-1]] = copy.deepcopy(value)

    assert judged(schema(ROOT / "deploy" / "crds" / "gpuclass.yaml"), content, None) == judged(
        schema(SEED), content, None
    )


def _has(node: Any, step: Any) -> bool:
    return step in node if isinstance(node, dict) else isinstance(step, int) and step < len(node)
