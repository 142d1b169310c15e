"""REST: a tenant's claims, budget and events; all claims for hosters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from django.http import HttpResponse
from rest_framework.request import Request

from claims import services
from claims.bodies import order_from
from claims.budget import BudgetLine, budget_of
from claims.event_bodies import event_body
from claims.models import EventKind, OrderEvent
from claims.orders import NameTaken, OrderRefused, Placed
from claims.redaction import for_tenant
from gpu.conditions import Phase
from gpu.resources import API_VERSION
from kube.errors import Conflict
from portal.access import Access, Right
from portal.api import schema
from portal.api.bodies import json_answer, list_answer, object_answer
from portal.api.etags import expected_version, is_unchanged, not_modified, stale
from portal.api.idempotency import stable_key
from portal.api.paging import page_request, raw_page, rows_after, token_after
from portal.api.parameters import PAGE, is_dry_run, is_true, parameters
from portal.api.problems import BadParameter, ProblemRaised, not_found
from portal.api.views import ApiView
from portal.errors import Problem, refused
from portal.models import ClaimRecord, NamespaceRecord
from portal.querysets import ClaimQuerySet

_CLAIM: Final = schema.ref("GPUClaim")
_COLUMNS: Final = {"className": "class_name", "setName": "set_name", "phase": "phase"}
_HOSTER_COLUMNS: Final = {**_COLUMNS, "namespace": "namespace", "nodeName": "node_name"}
_FILTERS: Final = [
    schema.LIMIT,
    schema.CONTINUE,
    schema.query("className", "Exactly this offer."),
    schema.query("setName", "Exactly this set."),
    schema.query("phase", ", ".join(Phase)),
    schema.query("healthy", "true or false.", bool),
]


class AllClaims(ApiView):
    """The claims of every tenant. To everybody but hosters this does not exist."""

    @schema.reads(
        "listAllClaims",
        schema.list_of("GPUClaim"),
        parameters=[
            *_FILTERS,
            schema.query("namespace", "Exactly this tenant."),
            schema.query("nodeName", "Held on this node."),
        ],
    )
    def get(self, request: Request) -> HttpResponse:
        self.need_hoster()
        found = parameters(request, allowed=PAGE | {*_HOSTER_COLUMNS, "healthy"})
        rows = _filtered(ClaimRecord.objects.all(), found, _HOSTER_COLUMNS)
        page, token = raw_page(rows, ("namespace", "name"), page_request(found))
        return _claim_list([bytes(body) for *_, body in page], token)


class Claims(ApiView):
    """One tenant's claims."""

    @schema.reads("listClaims", schema.list_of("GPUClaim"), parameters=_FILTERS)
    def get(self, request: Request, ns: str) -> HttpResponse:
        self.need_right(ns, Right.VIEW)
        found = parameters(request, allowed=PAGE | {*_COLUMNS, "healthy"})
        rows = _filtered(ClaimRecord.objects.in_tenant(ns), found, _COLUMNS)
        page, token = raw_page(rows, ("name",), page_request(found))
        return _claim_list([_shown(bytes(body), self.access) for _, body in page], token)

    @schema.writes(
        "createClaim",
        {201: _CLAIM, 200: _CLAIM},
        body=_CLAIM,
        parameters=[schema.DRY_RUN, schema.IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, ns: str) -> HttpResponse:
        """Order. The same Idempotency-Key makes one claim at most; without a name one is made up."""
        self.need_right(ns, Right.USE)
        is_dry = is_dry_run(parameters(request, allowed={"dryRun"}))

        def act() -> HttpResponse:
            key = stable_key(request._request, self.access.username)
            spec = order_from(self.sent, namespace=ns, order_key=key)
            try:
                placed = services.place_order(
                    access=self.access, gateway=self.gateway, spec=spec, dry_run=is_dry
                )
            except OrderRefused as error:
                problem = refused(error.refusals, retry_after_seconds=error.retry_after_seconds)
                raise ProblemRaised(problem) from error
            except NameTaken as error:
                raise ProblemRaised(_name_taken(error)) from error
            response = _placed(placed, self.access, status=201 if placed.is_new and not is_dry else 200)
            response["Location"] = f"{request.path}{placed.claim.metadata.name}/"
            return response

        return self.once(act)


class OneClaim(ApiView):
    """One claim."""

    @schema.reads("readClaim", _CLAIM)
    def get(self, request: Request, ns: str, name: str) -> HttpResponse:
        self.need_right(ns, Right.VIEW)
        parameters(request)
        record = _record_of(ns, name)
        if is_unchanged(request, record.resource_version):
            return not_modified(record.resource_version)
        return object_answer(
            _shown(bytes(record.body), self.access), resource_version=record.resource_version
        )

    @schema.writes("releaseClaim", {204: None, 202: _CLAIM}, parameters=[schema.DRY_RUN, schema.IF_MATCH])
    def delete(self, request: Request, ns: str, name: str) -> HttpResponse:
        """Release. 204: it is gone. 202: it is held until its VM stops, and the body shows it. Gone already: 404."""
        self.need_right(ns, Right.USE)
        is_dry = is_dry_run(parameters(request, allowed={"dryRun"}))
        record = _record_of(ns, name)
        expected = expected_version(request, record.resource_version)
        try:
            released = services.release(
                access=self.access,
                gateway=self.gateway,
                namespace=ns,
                name=name,
                uid=record.uid,
                resource_version=expected,
                dry_run=is_dry,
            )
        except Conflict as error:
            raise (stale() if expected else error) from error
        if released.claim is None or is_dry:
            return HttpResponse(status=204)
        raw = _shown(msgspec.json.encode(released.claim), self.access)
        return object_answer(raw, resource_version=released.claim.metadata.resource_version, status=202)


class Tenants(ApiView):
    """The tenants the caller may look at, with the caller's right in each."""

    @schema.reads("listTenants", schema.list_of("Tenant"), parameters=[schema.LIMIT, schema.CONTINUE])
    def get(self, request: Request) -> HttpResponse:
        wanted = page_request(parameters(request, allowed=PAGE))
        rows = rows_after(NamespaceRecord.objects.visible_to(self.access), ("name",), wanted.after)
        found = list(rows.values_list("name", "parent")[: wanted.limit + 1])
        page = found[: wanted.limit]
        items = [self._tenant(name, parent) for name, parent in page]
        token = token_after((page[-1][0],)) if len(found) > len(page) else ""
        return list_answer(items, kind="TenantList", api_version=API_VERSION, next_token=token)

    def _tenant(self, name: str, parent: str) -> bytes:
        right = self.access.right_in(name)
        body = {"kind": "Tenant", "metadata": {"name": name}, "right": right.name.lower() if right else ""}
        if self.access.can_view(parent):
            body["parent"] = parent
        return msgspec.json.encode(body)


class Budget(ApiView):
    """What one tenant may hold and holds."""

    @schema.reads("readBudget", schema.ref("TenantBudget"))
    def get(self, request: Request, ns: str) -> HttpResponse:
        self.need_right(ns, Right.VIEW)
        parameters(request)
        budgets = [_budget(line) for line in budget_of(ns)]
        return json_answer(
            {
                "apiVersion": API_VERSION,
                "kind": "TenantBudget",
                "metadata": {"name": ns},
                "status": {"budgets": budgets},
            }
        )


class Events(ApiView):
    """The history of one tenant's orders, newest first."""

    @schema.reads(
        "listEvents",
        schema.list_of("OrderEvent"),
        parameters=[
            schema.LIMIT,
            schema.CONTINUE,
            schema.query("type", ", ".join(EventKind.values)),
            schema.query("claim", "Of the claim with this name."),
            schema.query("className", "Exactly this offer."),
        ],
    )
    def get(self, request: Request, ns: str) -> HttpResponse:
        self.need_right(ns, Right.VIEW)
        found = parameters(request, allowed=PAGE | {"type", "claim", "className"})
        if found.get("type", EventKind.ORDERED) not in EventKind.values:
            raise BadParameter("type", f"must be one of {', '.join(EventKind.values)}")
        names = {"type": "kind", "claim": "claim_name", "className": "class_name"}
        rows = OrderEvent.objects.filter(
            namespace=ns, **{names[name]: text for name, text in found.items() if name in names}
        )
        wanted = page_request(found)
        events = list(rows_after(rows, ("-at", "-id"), wanted.after)[: wanted.limit + 1])
        page = events[: wanted.limit]
        token = token_after((page[-1].at.isoformat(), page[-1].id)) if len(events) > len(page) else ""
        items = [event_body(event, is_hoster=self.access.is_hoster) for event in page]
        return list_answer(items, kind="OrderEventList", api_version=API_VERSION, next_token=token)


def _filtered(rows: ClaimQuerySet, found: Mapping[str, str], columns: Mapping[str, str]) -> ClaimQuerySet:
    if "phase" in found and found["phase"] not in tuple(Phase):
        raise BadParameter("phase", f"must be one of {', '.join(Phase)}")
    wanted: dict[str, Any] = {columns[name]: text for name, text in found.items() if name in columns}
    if (healthy := is_true(found, "healthy")) is not None:
        wanted["is_healthy"] = healthy
    return rows.filter(**wanted)


def _record_of(namespace: str, name: str) -> ClaimRecord:
    record = ClaimRecord.objects.filter(namespace=namespace, name=name).first()
    if record is None:
        raise not_found()
    return record


def _shown(raw: bytes, access: Access) -> bytes:
    return raw if access.is_hoster else for_tenant(raw)


def _claim_list(items: list[bytes], token: str) -> HttpResponse:
    return list_answer(items, kind="GPUClaimList", api_version=API_VERSION, next_token=token)


def _placed(placed: Placed, access: Access, *, status: int) -> HttpResponse:
    return object_answer(
        _shown(placed.raw, access),
        resource_version=placed.claim.metadata.resource_version,
        status=status,
        warnings=placed.warnings,
    )


def _name_taken(error: NameTaken) -> Problem:
    return Problem(
        status=409,
        title="The name is taken",
        detail=f"Another order of {error.namespace} is called {error.name}. Choose another name.",
        reason="AlreadyExists",
    )


def _budget(line: BudgetLine) -> dict[str, Any]:
    return {
        "key": line.key,
        "className": line.class_name,
        "used": line.used,
        "heldHere": line.held_here,
        "releasing": line.releasing,
        "limit": line.limit,
        "quota": line.quota,
        "pool": line.pool,
    }
