"""What the server says it serves: /api, /apis and below, in the aggregated and the older form."""

from __future__ import annotations

from typing import Any, Final

from kube.devserver.answer import Answer
from kube.devserver.served import Catalogue, Object, Served

AGGREGATED: Final = "as=APIGroupDiscoveryList"
VERSION: Final = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0-devserver",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


def _subresources(entry: Served) -> list[str]:
    return ["status"] if entry.has_status else []


def _by_group(catalogue: Catalogue) -> dict[str, dict[str, list[Served]]]:
    groups: dict[str, dict[str, list[Served]]] = {}
    for entry in catalogue.all():
        groups.setdefault(entry.group, {}).setdefault(entry.version, []).append(entry)
    return groups


def _aggregated_resource(entry: Served) -> Object:
    kind = {"group": entry.group, "version": entry.version, "kind": entry.kind}
    resource: Object = {
        "resource": entry.plural,
        "responseKind": kind,
        "scope": "Namespaced" if entry.namespaced else "Cluster",
        "singularResource": entry.singular,
        "verbs": list(entry.verbs),
    }
    if entry.short_names:
        resource["shortNames"] = list(entry.short_names)
    if entry.categories:
        resource["categories"] = list(entry.categories)
    subresources = [
        {"subresource": name, "responseKind": kind, "verbs": ["get", "patch", "update"]}
        for name in _subresources(entry)
    ]
    if subresources:
        resource["subresources"] = subresources
    return resource


def _aggregated(catalogue: Catalogue, *, core: bool, version: str) -> Object:
    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None},
            "versions": [
                {
                    "version": name,
                    "resources": [_aggregated_resource(entry) for entry in entries],
                    "freshness": "Current",
                }
                for name, entries in versions.items()
            ],
        }
        for group, versions in _by_group(catalogue).items()
        if (not group) is core
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": items,
    }


def _group(name: str, versions: list[str]) -> Object:
    named = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": named, "preferredVersion": named[0]}


def _resource_list(entries: list[Served]) -> Object:
    resources: list[dict[str, Any]] = []
    for entry in entries:
        resource: Object = {
            "name": entry.plural,
            "singularName": entry.singular,
            "namespaced": entry.namespaced,
            "kind": entry.kind,
            "verbs": list(entry.verbs),
        }
        if entry.short_names:
            resource["shortNames"] = list(entry.short_names)
        if entry.categories:
            resource["categories"] = list(entry.categories)
        resources.append(resource)
        resources += [
            {
                "name": f"{entry.plural}/{name}",
                "singularName": "",
                "namespaced": entry.namespaced,
                "kind": entry.kind,
                "verbs": ["get", "patch", "update"],
            }
            for name in _subresources(entry)
        ]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": entries[0].api_version,
        "resources": resources,
    }


def discover(catalogue: Catalogue, path: str, accept: str) -> Answer | None:
    """Answer a discovery path, or give None when it is none."""
    parts = [part for part in path.split("/") if part]
    groups = _by_group(catalogue)
    if parts in (["api"], ["apis"]):
        core = parts == ["api"]
        if AGGREGATED in accept:
            version = "v2" if "v=v2;" in accept else "v2beta1"
            content_type = f"application/json;g=apidiscovery.k8s.io;v={version};{AGGREGATED}".encode()
            return Answer.of(_aggregated(catalogue, core=core, version=version), content_type=content_type)
        if core:
            return Answer.of({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
        listed = [_group(name, list(versions)) for name, versions in groups.items() if name]
        return Answer.of({"kind": "APIGroupList", "apiVersion": "v1", "groups": listed})
    if len(parts) == 2 and parts[0] == "apis" and parts[1] in groups:
        return Answer.of({"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1], list(groups[parts[1]]))})
    group, version = ("", parts[1]) if parts[:1] == ["api"] and len(parts) == 2 else ("", "")
    if len(parts) == 3 and parts[0] == "apis":
        group, version = parts[1], parts[2]
    entries = groups.get(group, {}).get(version)
    return Answer.of(_resource_list(entries)) if entries else None
