"""Reading an order out of a request's body, with the same fields at fault as the API server would name.

The API server validates again; these checks come first because what they refuse cannot even be expressed as an order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from claims.orders import OrderSpec
from gpu.resources import API_VERSION, INT32_MAX
from portal.api.metadata import metadata_faults
from portal.api.names import name_fault
from portal.api.problems import InvalidBody
from portal.errors import FieldCause

_TOP: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_SPEC: Final = frozenset({"className", "count", "setName"})


def order_from(body: Mapping[str, Any], *, namespace: str, order_key: str) -> OrderSpec:
    """Read a GPUClaim. Raises InvalidBody with a cause per field."""
    faults: list[FieldCause] = []
    metadata = _mapping(body, "metadata", faults)
    spec = _mapping(body, "spec", faults)
    for name, expected in (("apiVersion", API_VERSION), ("kind", "GPUClaim")):
        if body.get(name, expected) != expected:
            faults.append(FieldCause(field=name, message=f"must be {expected}"))
    faults += [FieldCause(field=name, message="is not a known field") for name in sorted({*body} - _TOP)]
    faults += [
        FieldCause(field=f"spec.{name}", message="is not a known field") for name in sorted({*spec} - _SPEC)
    ]
    faults += metadata_faults(metadata)
    if metadata.get("namespace", namespace) != namespace:
        faults.append(
            FieldCause(field="metadata.namespace", message=f"must be {namespace}, as in the address")
        )
    order = OrderSpec(
        namespace=namespace,
        name=_label(metadata, "name", "metadata.name", faults) or "",
        class_name=_label(spec, "className", "spec.className", faults, required=True) or "",
        count=_count(spec.get("count"), faults),
        set_name=_label(spec, "setName", "spec.setName", faults),
        order_key=order_key,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
    )
    if faults:
        raise InvalidBody(tuple(faults))
    return order


def _mapping(body: Mapping[str, Any], name: str, faults: list[FieldCause]) -> Mapping[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        faults.append(FieldCause(field=name, message="must be an object"))
        return {}
    return value


def _label(
    values: Mapping[str, Any], name: str, field: str, faults: list[FieldCause], *, required: bool = False
) -> str | None:
    value = values.get(name)
    if value is None:
        if required:
            faults.append(FieldCause(field=field, message="is required"))
        return None
    fault = name_fault(value)
    if fault:
        faults.append(FieldCause(field=field, message=fault))
        return None
    return str(value)


def _count(value: object, faults: list[FieldCause]) -> int:
    """Read a count. A null is an absent value and means 1, and 2.0 is a whole number, as the API server has it."""
    if value is None:
        return 1
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_whole:
        faults.append(FieldCause(field="spec.count", message="must be a whole number"))
        return 1
    number = int(value)  # type: ignore[call-overload]  # an int or a float by now
    if not 1 <= number <= INT32_MAX:
        faults.append(FieldCause(field="spec.count", message=f"must be from 1 to {INT32_MAX}"))
        return 1
    return int(number)
