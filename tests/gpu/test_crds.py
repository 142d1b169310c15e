"""The models in gpu/resources.py, the CRD files in deploy/crds and the given GPUClass schema say the same."""

from __future__ import annotations

import os
import types
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
import yaml
from msgspec import Meta, Struct

from gpu import resources as gpu

ROOT = Path(__file__).resolve().parents[2]
CRDS = ROOT / "deploy" / "crds"
SHARED = Path(os.environ.get("GPU_PORTAL_SHARED") or ROOT.parent / "shared")

KINDS: dict[str, type[Struct]] = {
    "gpuclass": gpu.GPUClass,
    "gpuclaim": gpu.GPUClaim,
    "gpunode": gpu.GPUNode,
}


def crd(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CRDS / f"{name}.yaml").read_text())
    return loaded


def schema_of(name: str) -> dict[str, Any]:
    (version,) = crd(name)["spec"]["versions"]
    assert version["name"] == gpu.VERSION
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def facts_of_schema(node: dict[str, Any]) -> dict[str, Any]:
    """Reduce a schema node to what a msgspec model can say too."""
    facts: dict[str, Any] = {}
    if node.get("x-kubernetes-int-or-string"):
        facts["type"] = "int-or-string"
    elif node["type"] == "object" and "additionalProperties" in node:
        facts["type"] = f"map of {node['additionalProperties']['type']}"
    else:
        facts["type"] = node.get("format") if node.get("format") == "date-time" else node["type"]
    for key in ("minLength", "maxLength", "pattern", "maxItems", "minimum", "maximum", "default"):
        if key in node:
            facts[key] = node[key]
    if node.get("format") == "int32" and "minimum" in node:
        facts["maximum"] = min(gpu.INT32_MAX, node.get("maximum", gpu.INT32_MAX))
    if "enum" in node:
        facts["enum"] = sorted(node["enum"])
    if node["type" if "type" in node else "anyOf"] == "array":
        facts["items"] = facts_of_schema(node["items"])
    if "properties" in node:
        facts["properties"] = {name: facts_of_schema(child) for name, child in node["properties"].items()}
        facts["required"] = sorted(node.get("required", []))
    return facts


def facts_of_hint(hint: Any) -> dict[str, Any]:
    """Reduce a model field's type to the same facts."""
    if get_origin(hint) is Annotated:
        inner, *metas = get_args(hint)
        facts = facts_of_hint(inner)
        for meta in metas:
            facts.update(facts_of_meta(meta, is_list=facts["type"] == "array"))
        return facts
    if get_origin(hint) in (Union, types.UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        if len(members) == 1:
            return facts_of_hint(members[0])
        merged = {key: value for member in members for key, value in facts_of_hint(member).items()}
        assert {facts_of_hint(member)["type"] for member in members} == {"string", "integer"}
        return merged | {"type": "int-or-string"}
    if get_origin(hint) is list:
        return {"type": "array", "items": facts_of_hint(get_args(hint)[0])}
    if hint == dict[str, str]:
        return {"type": "map of string"}
    if hint is datetime:
        return {"type": "date-time"}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"type": "string", "enum": sorted(hint)}
    if isinstance(hint, type) and issubclass(hint, Struct):
        return facts_of_struct(hint)
    return {"type": {str: "string", int: "integer"}[hint]}


def facts_of_meta(meta: Meta, *, is_list: bool) -> dict[str, Any]:
    named = {
        "minLength": meta.min_length,
        "maxItems" if is_list else "maxLength": meta.max_length,
        "pattern": meta.pattern,
        "minimum": meta.ge,
        "maximum": meta.le,
    }
    return {key: value for key, value in named.items() if value is not None}


def facts_of_struct(model: type[Struct]) -> dict[str, Any]:
    hints = get_type_hints(model, include_extras=True)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field in msgspec.structs.fields(model):
        if field.encode_name == "metadata":
            continue
        facts = facts_of_hint(hints[field.name])
        if field.required:
            required.append(field.encode_name)
        elif field.default is not None and field.default is not msgspec.NODEFAULT:
            facts["default"] = field.default
        properties[field.encode_name] = facts
    return {"type": "object", "properties": properties, "required": sorted(required)}


def without_descriptions(node: Any) -> Any:
    """Drop description texts; a property that is called description would stay."""
    if isinstance(node, list):
        return [without_descriptions(child) for child in node]
    if isinstance(node, dict):
        return {
            key: without_descriptions(child)
            for key, child in node.items()
            if not (key == "description" and isinstance(child, str))
        }
    return node


@pytest.mark.parametrize("name", KINDS)
def test_the_model_and_the_crd_agree_field_by_field(name: str) -> None:
    schema = schema_of(name)
    for part in ("apiVersion", "kind", "metadata"):
        del schema["properties"][part]

    assert facts_of_struct(KINDS[name]) == facts_of_schema(schema)


@pytest.mark.parametrize("name", KINDS)
def test_the_crd_is_kept_when_its_release_is_uninstalled(name: str) -> None:
    assert crd(name)["metadata"]["annotations"].items() >= gpu.KEEP_ANNOTATION.items()


@pytest.mark.parametrize("name", KINDS)
def test_the_crd_serves_the_group_and_the_status_subresource(name: str) -> None:
    spec = crd(name)["spec"]

    assert spec["group"] == gpu.GROUP
    assert spec["names"]["kind"] == KINDS[name].__name__
    assert [version["subresources"] for version in spec["versions"]] == [{"status": {}}]


def test_only_claims_are_namespaced() -> None:
    assert {name: crd(name)["spec"]["scope"] for name in KINDS} == {
        "gpuclass": "Cluster",
        "gpuclaim": "Namespaced",
        "gpunode": "Cluster",
    }


def test_claims_can_be_selected_by_node_and_class() -> None:
    (version,) = crd("gpuclaim")["spec"]["versions"]

    assert version["selectableFields"] == [{"jsonPath": ".status.nodeName"}, {"jsonPath": ".spec.className"}]


@pytest.mark.parametrize("name", KINDS)
def test_every_field_is_described(name: str) -> None:
    def undescribed(node: dict[str, Any], path: str) -> list[str]:
        found = [] if "description" in node or path == ".metadata" else [path]
        for child, below in node.get("properties", {}).items():
            found += undescribed(below, f"{path}.{child}")
        if "items" in node:
            found += undescribed(node["items"], f"{path}[]")
        return found

    assert undescribed(schema_of(name), "") == []


def test_the_class_is_the_given_one_in_everything_but_descriptions() -> None:
    seed = SHARED / "seed" / "gpuclass-crd.yaml"
    if not seed.is_file():
        pytest.skip("the given GPUClass schema is not beside this checkout (set GPU_PORTAL_SHARED)")

    assert without_descriptions(crd("gpuclass")) == without_descriptions(yaml.safe_load(seed.read_text()))
