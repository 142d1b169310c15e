"""The OpenAPI document: shapes come from the model's own types, so that they cannot drift from what is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec
from drf_spectacular.authentication import BasicScheme, SessionScheme
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from gpu.resources import GPUClaim, GPUClass
from portal.api.bodies import JSON
from portal.api.paging import MAX_LIMIT
from portal.api.problems import CONTENT_TYPE as PROBLEM

V = TypeVar("V", bound=Callable[..., Any])

_WHY: Final = {
    400: "The request cannot be read.",
    401: "Not signed in.",
    403: "No right to do this.",
    404: "No such object, or none that you may know of.",
    409: "Refused, with every reason and its numbers; or the name is taken.",
    412: "Changed since the version in If-Match.",
    415: "The body is in a format that is not read here.",
    422: "Fields are wrong; causes name them.",
    429: "Too many requests.",
    503: "The cluster does not answer.",
}
_READ: Final = (400, 401, 404, 429)
_WRITE: Final = (400, 401, 403, 404, 409, 412, 415, 422, 429, 503)

LIMIT: Final = OpenApiParameter("limit", int, description=f"Rows in one page, 1 to {MAX_LIMIT}.")
CONTINUE: Final = OpenApiParameter("continue", str, description="The token of the page before.")
DRY_RUN: Final = OpenApiParameter(
    "dryRun", str, enum=["All"], description="Check everything, change nothing."
)
IF_MATCH: Final = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="The ETag to change."
)
IDEMPOTENCY_KEY: Final = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The same key and body: the same answer, done once.",
)


class LocalBasicScheme(BasicScheme):  # type: ignore[no-untyped-call]  # the package has no types
    """How the document words HTTP Basic."""

    target_class = "portal.api.authentication.LocalBasic"


class BrowserSessionScheme(SessionScheme):  # type: ignore[no-untyped-call]  # the package has no types
    """How the document words the session of the pages."""

    target_class = "portal.api.authentication.BrowserSession"


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def list_of(name: str) -> dict[str, Any]:
    """Give the schema of a Kubernetes list."""
    return {
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "properties": {"continue": {"type": "string"}}},
            "items": {"type": "array", "items": ref(name)},
        },
    }


def query(name: str, description: str, kind: type = str) -> OpenApiParameter:
    return OpenApiParameter(name, kind, description=description)


def reads(
    operation_id: str, answer: Mapping[str, Any], *, parameters: Iterable[OpenApiParameter] = ()
) -> Callable[[V], V]:
    """Document a GET."""
    return _operation(operation_id, {(200, JSON): OpenApiResponse(dict(answer))}, _READ, parameters, None)


def writes(
    operation_id: str,
    answers: Mapping[int, Mapping[str, Any] | None],
    *,
    body: Mapping[str, Any] | None = None,
    parameters: Iterable[OpenApiParameter] = (),
) -> Callable[[V], V]:
    """Document what changes something; an answer of None has no body."""
    responses: dict[Any, OpenApiResponse] = {
        code if schema is None else (code, JSON): OpenApiResponse(None if schema is None else dict(schema))
        for code, schema in answers.items()
    }
    return _operation(operation_id, responses, _WRITE, parameters, body)


def _operation(
    operation_id: str,
    responses: dict[Any, Any],
    problems: Iterable[int],
    parameters: Iterable[OpenApiParameter],
    body: Mapping[str, Any] | None,
) -> Callable[[V], V]:
    for code in problems:
        responses[code, PROBLEM] = OpenApiResponse(ref("Problem"), description=_WHY[code])
    decorate: Callable[[V], V] = extend_schema(
        operation_id=operation_id,
        request={JSON: dict(body)} if body is not None else None,
        responses=responses,
        parameters=list(parameters),
    )
    return decorate


def add_components(result: dict[str, Any], **context: Any) -> dict[str, Any]:
    """Put the shapes that operations refer to into the document."""
    _, shapes = msgspec.json.schema_components(
        [GPUClass, GPUClaim], ref_template="#/components/schemas/{name}"
    )
    result.setdefault("components", {}).setdefault("schemas", {}).update({**shapes, **_OWN})
    return result


_TEXT: Final = {"type": "string"}
_UNITS: Final = {"type": "integer", "minimum": 0}
_OWN: Final[dict[str, Any]] = {
    "Problem": {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": _TEXT,
            "title": _TEXT,
            "status": {"type": "integer"},
            "detail": _TEXT,
            "reasons": {
                "type": "array",
                "description": "Every reason of a refusal, each with its numbers.",
                "items": {
                    "type": "object",
                    "required": ["reason", "message"],
                    "properties": {"reason": _TEXT, "message": _TEXT},
                },
            },
            "causes": {
                "type": "array",
                "description": "What is wrong with which field.",
                "items": {
                    "type": "object",
                    "required": ["field", "message"],
                    "properties": {"field": _TEXT, "message": _TEXT},
                },
            },
        },
    },
    "MergePatch": {"type": "object", "description": "A JSON merge patch (RFC 7396) of metadata and spec."},
    "Node": {
        "type": "object",
        "description": "The Kubernetes Node, with what its GPUs are used for in `stock`.",
        "properties": {
            "metadata": {"type": "object"},
            "spec": {"type": "object"},
            "status": {"type": "object"},
            "stock": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "resource": _TEXT,
                        "capacity": _UNITS,
                        "allocatable": _UNITS,
                        "held": _UNITS,
                        "inUse": _UNITS,
                        "foreign": _UNITS,
                        "free": _UNITS,
                        "overCommitted": _UNITS,
                    },
                },
            },
        },
    },
    "Tenant": {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": _TEXT}},
            "parent": _TEXT,
            "right": {"type": "string", "enum": ["view", "use", "admin"]},
        },
    },
    "TenantBudget": {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": _TEXT}},
            "status": {
                "type": "object",
                "properties": {
                    "budgets": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "key": _TEXT,
                                "className": {"type": ["string", "null"], "description": "null: all offers."},
                                "used": _UNITS,
                                "heldHere": _UNITS,
                                "releasing": _UNITS,
                                "limit": {"type": ["integer", "null"], "description": "null: no limit set."},
                                "quota": _TEXT,
                                "pool": _TEXT,
                            },
                        },
                    }
                },
            },
        },
    },
    "OrderEvent": {
        "type": "object",
        "properties": {
            "metadata": {"type": "object"},
            "type": _TEXT,
            "at": {"type": "string", "format": "date-time"},
            "claim": {"type": "object", "properties": {"name": _TEXT, "uid": _TEXT}},
            "className": _TEXT,
            "count": {"type": "integer"},
            "username": _TEXT,
            "reasons": {"type": "array", "items": {"type": "object"}},
            "vm": _TEXT,
            "reason": _TEXT,
            "nodeName": {"type": "string", "description": "For hosters only."},
        },
    },
}
