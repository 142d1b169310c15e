"""Contract: lists, pages and selectors."""

from __future__ import annotations

from typing import Any

import pytest

from kube.gateway import Gateway
from kube.kinds import CRDS, GPU_CLAIMS, LEASES, PODS
from tests.kube.orders import a_claim
from tests.kube.wire import Wire

NAMES = [f"c-{number}" for number in range(7)]


@pytest.fixture
def claims(wire: Wire, namespace: str) -> str:
    """A namespace with seven claims: even ones of class l40s, odd ones of h100; labels team and odd."""
    for number, name in enumerate(NAMES):
        labels = {"team": "red" if number < 3 else "blue", **({"odd": ""} if number % 2 else {})}
        body = a_claim(name, className="h100" if number % 2 else "l40s")
        body["metadata"]["labels"] = labels
        assert wire.create(GPU_CLAIMS, body, namespace=namespace).code == 201
    return namespace


def test_a_list_has_its_kind_and_a_resource_version(wire: Wire, claims: str) -> None:
    listed = wire.page(GPU_CLAIMS, namespace=claims).json

    assert listed["kind"] == "GPUClaimList"
    assert listed["apiVersion"] == "gpu.cozystack.io/v1alpha1"
    assert int(listed["metadata"]["resourceVersion"]) > 0
    assert [item["metadata"]["name"] for item in listed["items"]] == NAMES


def test_pages_are_of_one_moment(wire: Wire, claims: str) -> None:
    first = wire.page(GPU_CLAIMS, namespace=claims, limit="3").json
    wire.delete(GPU_CLAIMS, "c-5", namespace=claims)
    wire.create(GPU_CLAIMS, a_claim("c-4a"), namespace=claims)
    wire.patch(GPU_CLAIMS, "c-6", {"metadata": {"labels": {"late": "yes"}}}, namespace=claims)

    pages = [first]
    while token := pages[-1]["metadata"].get("continue"):
        pages.append(wire.page(GPU_CLAIMS, namespace=claims, limit="3", **{"continue": token}).json)

    items = [item for page in pages for item in page["items"]]
    assert [item["metadata"]["name"] for item in items] == NAMES
    assert "late" not in items[-1]["metadata"]["labels"]
    assert first["metadata"]["remainingItemCount"] == 4
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1


def test_a_broken_continue_token_is_a_bad_request(wire: Wire, claims: str) -> None:
    answer = wire.page(GPU_CLAIMS, namespace=claims, limit="3", **{"continue": "%%%"})

    assert answer.code == 400


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        ("team=red", [0, 1, 2]),
        ("team==red,odd", [1]),
        ("team!=red", [3, 4, 5, 6]),
        ("!odd", [0, 2, 4, 6]),
        ("team in (red, blue),odd", [1, 3, 5]),
        ("team notin (red)", [3, 4, 5, 6]),
        ("nobody", []),
    ],
)
def test_labels_select(wire: Wire, claims: str, selector: str, wanted: list[int]) -> None:
    assert wire.names(GPU_CLAIMS, namespace=claims, labelSelector=selector) == [NAMES[i] for i in wanted]


def test_a_label_selector_that_is_none_is_a_bad_request(wire: Wire, claims: str) -> None:
    assert wire.page(GPU_CLAIMS, namespace=claims, labelSelector="a in (").code == 400


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        ("metadata.name=c-3", [3]),
        ("spec.className=h100", [1, 3, 5]),
        ("spec.className!=h100", [0, 2, 4, 6]),
        ("status.nodeName=n1", [2]),
        ("status.nodeName=,spec.className=l40s", [0, 4, 6]),
        ("spec.className!=h(,metadata.name=c-3", [3]),
        ("spec.className!=a\\,b\\=c\\\\,metadata.name=c-3,", [3]),
        ("spec.className= h100", []),
    ],
)
def test_fields_select(wire: Wire, claims: str, selector: str, wanted: list[int]) -> None:
    bound = {"status": {"nodeName": "n1"}}
    wire.patch(GPU_CLAIMS, "c-2", bound, namespace=claims, subresource="status")

    assert wire.names(GPU_CLAIMS, namespace=claims, fieldSelector=selector) == [NAMES[i] for i in wanted]


@pytest.mark.parametrize(
    "selector",
    ["c-3", "metadata.name=c-3,y)", "metadata.name=a=b", "metadata.name=a\\b", "metadata.name=a\\"],
)
def test_a_field_selector_that_is_none_is_a_bad_request(wire: Wire, claims: str, selector: str) -> None:
    assert wire.page(GPU_CLAIMS, namespace=claims, fieldSelector=selector).code == 400


def test_only_declared_fields_select(wire: Wire, claims: str) -> None:
    refused = wire.page(GPU_CLAIMS, namespace=claims, fieldSelector="spec.count=1")

    assert refused.code == 400
    assert "field label not supported" in refused.json["message"]


def test_pods_are_selected_by_node_and_phase(wire: Wire, namespace: str) -> None:
    for name, node in (("p1", "n1"), ("p2", "n2")):
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "example.com/none"}]}
        wire.create(PODS, {"metadata": {"name": name}, "spec": spec}, namespace=namespace)

    selector = "spec.nodeName=n1,status.phase!=Succeeded,status.phase!=Failed"

    assert wire.names(PODS, namespace=namespace, fieldSelector=selector) == ["p1"]


def test_all_namespaces_are_listed_together(wire: Wire, claims: str) -> None:
    everything = wire.page(GPU_CLAIMS).json["items"]

    mine = [item["metadata"]["name"] for item in everything if item["metadata"]["namespace"] == claims]
    assert mine == NAMES


def test_the_gateway_lists_all_pages(gateway: Gateway, claims: str) -> None:
    listing = gateway.list_all(GPU_CLAIMS, namespace=claims, limit=2)

    assert [item.object.metadata.name for item in listing.items] == NAMES


def test_a_table_has_the_printer_columns_of_the_crd(wire: Wire, claims: str) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    bound = {
        "conditions": [
            {
                "type": "Bound",
                "status": "True",
                "reason": "Allocated",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ]
    }
    wire.patch(GPU_CLAIMS, "c-0", {"status": bound}, namespace=claims, subresource="status")

    table = wire.page(GPU_CLAIMS, namespace=claims, accept=accept).json

    assert table["kind"] == "Table"
    columns = [(column["name"], column["type"]) for column in table["columnDefinitions"]]
    assert columns == [
        ("Name", "string"),
        ("Class", "string"),
        ("Count", "integer"),
        ("Bound", "string"),
        ("Age", "date"),
    ]
    assert table["rows"][0]["cells"][:4] == ["c-0", "l40s", 1, "True"]
    assert table["rows"][1]["cells"][3] is None
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_discovery_names_the_kinds(wire: Wire) -> None:
    resources: list[dict[str, Any]] = wire.send("GET", "/apis/gpu.cozystack.io/v1alpha1").json["resources"]
    groups = [group["name"] for group in wire.send("GET", "/apis").json["groups"]]

    by_name = {resource["name"]: resource for resource in resources}
    assert by_name["gpuclaims"]["namespaced"] is True
    assert by_name["gpuclaims"]["kind"] == "GPUClaim"
    assert "gpuclaims/status" in by_name
    assert {"gpu.cozystack.io", LEASES.group, CRDS.group} <= set(groups)


def test_discovery_comes_aggregated_too(wire: Wire) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

    found = wire.send("GET", "/apis", accept=accept)

    assert "as=APIGroupDiscoveryList" in found.headers["content-type"]
    (group,) = (item for item in found.json["items"] if item["metadata"]["name"] == "gpu.cozystack.io")
    names = {resource["resource"] for resource in group["versions"][0]["resources"]}
    assert names == {"gpuclasses", "gpuclaims", "gpunodes"}
