"""Contract: label selectors that are stored, in roles and webhooks, are judged before they are."""

from __future__ import annotations

from typing import Any

import pytest

from kube.kinds import WEBHOOKS
from tests.kube.rights import CLUSTER_ROLES
from tests.kube.wire import Answer, Wire

TERM = "matchExpressions[0]"
NO_VALUES = (
    "FieldValueRequired",
    f"{TERM}.values",
    "Required value: must be specified when `operator` is 'In' or 'NotIn'",
)
NO_OPERATOR = (
    "FieldValueInvalid",
    f"{TERM}.operator",
    'Invalid value: "Near": not a valid selector operator',
)
FAULTY = [
    ({"key": "a", "operator": "In"}, NO_VALUES),
    ({"key": "a", "operator": "NotIn", "values": []}, NO_VALUES),
    (
        {"key": "a", "operator": "Exists", "values": ["b"]},
        (
            "FieldValueForbidden",
            f"{TERM}.values",
            "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
    ),
    ({"key": "a", "operator": "Near", "values": ["b"]}, NO_OPERATOR),
    (
        {"key": "a"},
        ("FieldValueInvalid", f"{TERM}.operator", 'Invalid value: "": not a valid selector operator'),
    ),
]
SELECTORS = ["namespaceSelector", "objectSelector"]


def asking_of(wire: Wire, name: str, field: str, selector: dict[str, Any]) -> Answer:
    """Try to configure a webhook that is asked of what a selector picks."""
    webhook = {
        "name": f"{name}.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        field: selector,
    }
    return wire.create(WEBHOOKS, {"metadata": {"name": name}, "webhooks": [webhook]}, dryRun="All")


def made_up_of(wire: Wire, name: str, *selectors: dict[str, Any]) -> Answer:
    """Try to create a role that is made up of those that selectors pick."""
    role = {
        "metadata": {"name": name},
        "aggregationRule": {"clusterRoleSelectors": list(selectors)},
        "rules": [],
    }
    return wire.create(CLUSTER_ROLES, role, dryRun="All")


@pytest.mark.parametrize("field", SELECTORS)
@pytest.mark.parametrize(("term", "cause"), FAULTY)
def test_a_term_of_a_webhooks_selector_is_judged(
    wire: Wire, name: str, field: str, term: dict[str, Any], cause: tuple[str, str, str]
) -> None:
    answer = asking_of(wire, name, field, {"matchExpressions": [term]})

    reason, path, message = cause
    assert answer.code == 422
    assert answer.causes == [(reason, f"webhooks[0].{field}.{path}", message)]


@pytest.mark.parametrize(("term", "cause"), FAULTY)
def test_a_term_of_an_aggregated_roles_selector_is_judged(
    wire: Wire, name: str, term: dict[str, Any], cause: tuple[str, str, str]
) -> None:
    answer = made_up_of(wire, name, {"matchExpressions": [term]})

    reason, path, message = cause
    where = "aggregationRule.clusterRoleSelectors[0]"
    assert answer.code == 422
    assert answer.causes == [
        (reason, f"{where}.{path}", message),
        ("FieldValueInvalid", where, "Invalid value: null: invalid label selector."),
    ]


def test_an_aggregated_role_picks_by_something(wire: Wire, name: str) -> None:
    answer = made_up_of(wire, name)

    told = "Required value: at least one clusterRoleSelector required if aggregationRule is non-nil"
    assert answer.code == 422
    assert answer.causes == [("FieldValueRequired", "aggregationRule.clusterRoleSelectors", told)]


@pytest.mark.parametrize(
    ("selector", "field", "opening"),
    [
        ({"matchLabels": {"a b": "c"}}, "matchLabels", 'Invalid value: "a b": name part must consist of'),
        ({"matchLabels": {"a": "b c"}}, "matchLabels", 'Invalid value: "b c": a valid label must be'),
        (
            {"matchExpressions": [{"key": "a b", "operator": "Exists"}]},
            f"{TERM}.key",
            'Invalid value: "a b": name part must consist of',
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["ok", "b c"]}]},
            f"{TERM}.values[1]",
            'Invalid value: "b c": a valid label must be',
        ),
    ],
)
def test_the_labels_of_a_selector_are_labels(
    wire: Wire, name: str, selector: dict[str, Any], field: str, opening: str
) -> None:
    answer = asking_of(wire, name, "namespaceSelector", selector)

    ((reason, path, message),) = answer.causes
    assert (answer.code, reason) == (422, "FieldValueInvalid")
    assert path == f"webhooks[0].namespaceSelector.{field}"
    assert message.startswith(opening)


@pytest.mark.parametrize(
    "term",
    [
        {"key": "a", "operator": "In", "values": ["b", ""]},
        {"key": "example.com/a", "operator": "NotIn", "values": ["b"]},
        {"key": "a", "operator": "Exists"},
        {"key": "a", "operator": "DoesNotExist", "values": []},
    ],
)
def test_a_selector_of_any_operator_is_stored(wire: Wire, name: str, term: dict[str, Any]) -> None:
    assert asking_of(wire, name, "namespaceSelector", {"matchExpressions": [term]}).code == 201
    assert made_up_of(wire, name, {"matchExpressions": [term]}).code == 201
