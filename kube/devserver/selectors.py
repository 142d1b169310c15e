"""labelSelector and fieldSelector: parsed once per request, asked once per object. LabelSelectors in objects: judged and asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kube.devserver.jsonpath import first
from kube.devserver.metadata import label_value_faults, labels_faults, path_segment_rules, qualified_faults
from kube.devserver.served import Object, Served
from kube.devserver.status import ApiError, CauseType, FieldError, bad_request

Matcher = Callable[[Object], bool]

_BY_VALUE: Final = ("In", "NotIn")
_BY_PRESENCE: Final = ("Exists", "DoesNotExist")
_SET: Final = re.compile(r"^(?P<key>\S+)\s+(?P<op>in|notin)\s+\((?P<values>.*)\)$")
_PAIR: Final = re.compile(r"^(?P<key>[^=!]+?)\s*(?P<op>==|=|!=)\s*(?P<value>.*)$")
_FIELD_TERM: Final = re.compile(r"(?:\\.|[^,])+", re.DOTALL)
_FIELD_PAIR: Final = re.compile(r"(?P<field>.*?)(?P<op>!=|==|=)(?P<value>.*)", re.DOTALL)
_FIELD_VALUE: Final = re.compile(r"(?:[^\\,=]|\\[\\,=])*", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True)
class Requirement:
    """One term of a selector. ``values`` is None where only the presence of the key counts."""

    key: str
    values: frozenset[str] | None
    negated: bool

    def holds(self, labels: dict[str, str]) -> bool:
        if self.values is None:
            return (self.key in labels) is not self.negated
        return (labels.get(self.key) in self.values) is not self.negated


def _split(selector: str) -> list[str]:
    """Cut at commas that are not inside parentheses."""
    return [term.strip() for term in re.split(r",(?![^(]*\))", selector) if term.strip()]


def parse_labels(selector: str) -> tuple[Requirement, ...]:
    """Read a label selector. Raise 400 when it is none."""
    found: list[Requirement] = []
    for term in _split(selector):
        if in_set := _SET.match(term):
            values = frozenset(value.strip() for value in in_set["values"].split(","))
            found.append(Requirement(in_set["key"], values, in_set["op"] == "notin"))
        elif pair := _PAIR.match(term):
            found.append(
                Requirement(pair["key"].strip(), frozenset({pair["value"].strip()}), pair["op"] == "!=")
            )
        elif re.fullmatch(r"!?\s*[\w./-]+", term):
            found.append(Requirement(term.lstrip("! "), None, term.startswith("!")))
        else:
            raise bad_request(f"unable to parse requirement: {term!r}")
    return tuple(found)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def field_terms(selector: str) -> list[tuple[str, str, bool]]:
    """Read a field selector into (field, value, negated). Raise 400 when it is none.

    It has no parentheses, and no space that does not count: commas part its terms, but for those behind a backslash.
    """
    found = []
    for term in sorted(_FIELD_TERM.findall(selector)):
        pair = _FIELD_PAIR.fullmatch(term)
        if pair is None:
            raise bad_request(f"invalid selector: '{selector}'; can't understand '{term}'")
        if _FIELD_VALUE.fullmatch(pair["value"]) is None:
            raise bad_request(f"invalid field selector: '{pair['value']}' is not escaped as it should be")
        found.append((pair["field"], _ESCAPED.sub(r"\1", pair["value"]), pair["op"] == "!="))
    return found


def selected_name(selector: str) -> str:
    """Give the one name that a field selector lets pass, or "" where there may be several."""
    try:
        terms = field_terms(selector)
    except ApiError:
        return ""  # It is told when the selector is used.
    names = (value for field, value, negated in terms if field == "metadata.name" and not negated)
    name = next(names, "")
    return "" if path_segment_rules(name) else name


def parse_fields(selector: str, served: Served) -> list[tuple[str, str, bool]]:
    """Read a field selector as :func:`field_terms`. Raise 400 also for a field the resource cannot be selected by."""
    allowed = {"metadata.name", *served.selectable_fields}
    if served.namespaced or not served.is_custom:
        allowed.add("metadata.namespace")
    terms = field_terms(selector)
    for field, _, _ in terms:
        if field not in allowed:
            raise bad_request(f"field label not supported: {field}")
    return terms


def matcher(label_selector: str, field_selector: str, served: Served) -> Matcher | None:
    """Give the test an object has to pass, or None when every object passes."""
    labels = parse_labels(label_selector)
    fields = parse_fields(field_selector, served)
    if not labels and not fields:
        return None

    def matches(candidate: Object) -> bool:
        if labels:
            carried = candidate["metadata"].get("labels") or {}
            if not all(requirement.holds(carried) for requirement in labels):
                return False
        return all(
            (_as_text(first(f".{name}", candidate)) == value) is not negated
            for name, value, negated in fields
        )

    return matches


def picks(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Match a LabelSelector object."""
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    for term in selector.get("matchExpressions") or ():
        values = frozenset(term.get("values") or ()) if term["operator"] in _BY_VALUE else None
        negated = term["operator"] in ("NotIn", "DoesNotExist")
        if not Requirement(term["key"], values, negated).holds(labels):
            return False
    return True


def selector_faults(selector: dict[str, Any], path: str) -> list[FieldError]:
    """Judge a LabelSelector object of the right shape."""
    found = labels_faults(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, term in enumerate(selector.get("matchExpressions") or ()):
        found += _term_faults(term, f"{path}.matchExpressions[{index}]")
    return found


def _term_faults(term: dict[str, Any], path: str) -> list[FieldError]:
    operator, values = term.get("operator") or "", term.get("values") or ()
    found: list[FieldError] = []
    if operator in _BY_VALUE:
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            found.append(FieldError(CauseType.REQUIRED, f"{path}.values", detail=detail))
    elif operator in _BY_PRESENCE:
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(FieldError(CauseType.FORBIDDEN, f"{path}.values", detail=detail))
    else:
        detail = "not a valid selector operator"
        found.append(FieldError(CauseType.INVALID, f"{path}.operator", operator, detail))
    found += qualified_faults(term.get("key") or "", f"{path}.key")
    for index, value in enumerate(values):
        found += label_value_faults(value, f"{path}.values[{index}]")
    return found
