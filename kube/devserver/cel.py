"""x-kubernetes-validations: each rule is evaluated at its own schema node, transition rules against the old value there.

Rules are type-checked at run time only (``self`` is dynamic), so a rule that a real API server would refuse at CRD creation
fails here when it is first evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kube.devserver.defaulting import Node
from kube.devserver.status import UNSET, CauseType, FieldError

_USES_OLD: Final = re.compile(r"\boldSelf\b")
_REASONS: Final = {
    "FieldValueInvalid": CauseType.INVALID,
    "FieldValueForbidden": CauseType.FORBIDDEN,
    "FieldValueRequired": CauseType.REQUIRED,
    "FieldValueDuplicate": CauseType.DUPLICATE,
}


@cache
def _environment() -> Any:
    # Imported on first use: a server without rules starts faster.
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

    return cel.NewEnv(
        variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN},
        extensions=[
            ext_strings.ExtStrings(),
            ext_optional.ExtOptional(),
            ext_math.ExtMath(),
            ext_bindings.ExtBindings(),
        ],
    )


@dataclass(frozen=True)
class Rule:
    """One compiled rule of a schema node."""

    text: str
    detail: str
    type: CauseType
    uses_old: bool
    field_path: str
    program: Any
    message_program: Any

    def fault(self, value: Any, old: Any, path: str, *, show_value: bool) -> FieldError | None:
        """Evaluate; give the fault when the rule is broken or cannot be evaluated."""
        if self.uses_old and old is None:
            return None
        data = {"self": value, "oldSelf": old} if self.uses_old else {"self": value}
        result = self.program.eval(data=data).plain_value()
        if result is True:
            return None
        shown = value if show_value else UNSET
        if result is not False:
            return FieldError(
                CauseType.INVALID, path or "<nil>", shown, f"{result} evaluating rule: {self.text}"
            )
        detail = self.detail
        if self.message_program is not None:
            told = self.message_program.eval(data=data).plain_value()
            detail = told if isinstance(told, str) and told.strip() and "\n" not in told else detail
        where = f"{path}{self.field_path}".lstrip(".") or "<nil>"
        return FieldError(self.type, where, shown, detail)


def compile_rule(given: Node) -> Rule:
    """Compile one entry of x-kubernetes-validations. Raise ValueError when it is no CEL."""
    try:
        program = _environment().compile(str(given.get("rule", "")))
        message = given.get("messageExpression")
        message_program = _environment().compile(message) if message else None
    except RuntimeError as error:
        raise ValueError(f"compilation failed: {error}") from error
    return Rule(
        text=given["rule"],
        detail=given.get("message") or f"failed rule: {given['rule'].strip()}",
        type=_REASONS.get(given.get("reason", ""), CauseType.INVALID),
        uses_old=_USES_OLD.search(given["rule"]) is not None,
        field_path=given.get("fieldPath", ""),
        program=program,
        message_program=message_program,
    )


class Rules:
    """The rules of a schema node and of all nodes below it."""

    def __init__(self, node: Node) -> None:
        self._own = tuple(compile_rule(rule) for rule in node.get("x-kubernetes-validations", ()))
        self._show_value = node.get("type") not in ("object", "array")
        self._properties = {
            key: rules for key, below in node.get("properties", {}).items() if (rules := Rules(below))
        }
        self._extra = self._of(node.get("additionalProperties"))
        self._items = self._of(node.get("items"))
        self._map_keys: tuple[str, ...] = (
            tuple(node["x-kubernetes-list-map-keys"]) if node.get("x-kubernetes-list-type") == "map" else ()
        )

    @staticmethod
    def _of(node: Any) -> Rules | None:
        return rules if isinstance(node, dict) and (rules := Rules(node)) else None

    def __bool__(self) -> bool:
        return bool(self._own or self._properties or self._extra or self._items)

    def faults(self, value: Any, old: Any, path: str = "") -> Iterator[FieldError]:
        """Give what is broken in a value. ``old`` is the value it replaces, or None.

        A broken rule over an unchanged value is let pass (ratcheting), unless it compares with the old one.
        """
        if value is None:
            return
        for rule in self._own:
            fault = rule.fault(value, old, path, show_value=self._show_value)
            if fault is not None and (rule.uses_old or old is None or value != old):
                yield fault
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for key, item in value.items():
                if key in self._properties:
                    yield from self._properties[key].faults(
                        item, before.get(key), f"{path}.{key}" if path else key
                    )
                elif self._extra is not None:
                    yield from self._extra.faults(item, before.get(key), f"{path}[{key}]")
        elif isinstance(value, list) and self._items is not None:
            for index, item in enumerate(value):
                yield from self._items.faults(item, self._counterpart(item, old), f"{path}[{index}]")

    def _counterpart(self, item: Any, old: Any) -> Any:
        """Find what a list item was before: only items of keyed lists have an identity."""
        if not self._map_keys or not isinstance(old, list) or not isinstance(item, dict):
            return None
        for candidate in old:
            if all(candidate.get(key) == item.get(key) for key in self._map_keys):
                return candidate
        return None
