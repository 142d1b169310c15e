"""REST: classes for everyone who is signed in, written by hosters; nodes for hosters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from catalog import services
from gpu.resources import API_VERSION
from kube.errors import Conflict
from portal.api import schema
from portal.api.bodies import list_answer, object_answer, with_member
from portal.api.etags import expected_version, is_unchanged, not_modified, stale
from portal.api.metadata import metadata_faults
from portal.api.names import name_fault
from portal.api.paging import page_request, raw_page
from portal.api.parameters import PAGE, is_dry_run, is_true, parameters, whole_number
from portal.api.problems import InvalidBody, ProblemRaised, forbidden, not_found
from portal.api.views import ApiView, PatchableView
from portal.errors import FieldCause, Problem
from portal.models import ClassRecord, NodeRecord, NodeStock

_CLASS: Final = schema.ref("GPUClass")
_TOP: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_FILTERS: Final = {"vendor": "vendor", "model": "model", "mode": "mode"}


class Classes(ApiView):
    """The catalog."""

    @schema.reads(
        "listClasses",
        schema.list_of("GPUClass"),
        parameters=[
            schema.LIMIT,
            schema.CONTINUE,
            schema.query("vendor", "Exactly this vendor."),
            schema.query("model", "Exactly this model."),
            schema.query("mode", "passthrough or vgpu."),
            schema.query("fits", "A node has this many units free now.", int),
        ],
    )
    def get(self, request: Request) -> HttpResponse:
        found = parameters(request, allowed=PAGE | {*_FILTERS, "fits"})
        rows = ClassRecord.objects.filter(
            **{_FILTERS[name]: text for name, text in found.items() if name in _FILTERS}
        )
        if (units := whole_number(found, "fits")) is not None:
            rows = rows.with_room_for(units)
        page, token = raw_page(rows, ("name",), page_request(found))
        return list_answer(
            (bytes(body) for *_, body in page), kind="GPUClassList", api_version=API_VERSION, next_token=token
        )

    @schema.writes(
        "createClass",
        {201: _CLASS, 200: _CLASS},
        body=_CLASS,
        parameters=[schema.DRY_RUN, schema.IDEMPOTENCY_KEY],
    )
    def post(self, request: Request) -> HttpResponse:
        is_dry = is_dry_run(parameters(request, allowed={"dryRun"}))
        _need_publisher(self)

        def act() -> HttpResponse:
            metadata, spec = _checked(self.sent)
            written = services.create_class(
                access=self.access,
                gateway=self.gateway,
                name=_name_of(metadata),
                spec=spec,
                labels=metadata.get("labels"),
                annotations=metadata.get("annotations"),
                dry_run=is_dry,
            )
            response = _answer(written, status=200 if is_dry else 201)
            response["Location"] = f"{request.path}{written.gpu_class.metadata.name}/"
            return response

        return self.once(act)


class OneClass(PatchableView):
    """One offer."""

    @schema.reads("readClass", _CLASS)
    def get(self, request: Request, name: str) -> HttpResponse:
        parameters(request)
        record = _record_of(name)
        if is_unchanged(request, record.resource_version):
            return not_modified(record.resource_version)
        return object_answer(bytes(record.body), resource_version=record.resource_version)

    @schema.writes("replaceClass", {200: _CLASS}, body=_CLASS, parameters=[schema.DRY_RUN, schema.IF_MATCH])
    def put(self, request: Request, name: str) -> HttpResponse:
        is_dry = is_dry_run(parameters(request, allowed={"dryRun"}))
        _need_publisher(self)
        metadata, spec = _checked(self.sent)
        if metadata.get("name", name) != name:
            raise InvalidBody((FieldCause("metadata.name", f"must be {name}, as in the address"),))
        expected = expected_version(request, _record_of(name).resource_version)
        try:
            written = services.replace_class(
                access=self.access,
                gateway=self.gateway,
                name=name,
                spec=spec,
                labels=metadata.get("labels"),
                annotations=metadata.get("annotations"),
                resource_version=expected or metadata.get("resourceVersion"),
                dry_run=is_dry,
            )
        except Conflict as error:
            raise (stale() if expected else error) from error
        return _answer(written)

    @schema.writes(
        "patchClass",
        {200: _CLASS},
        body=schema.ref("MergePatch"),
        parameters=[schema.DRY_RUN, schema.IF_MATCH],
    )
    def patch(self, request: Request, name: str) -> HttpResponse:
        is_dry = is_dry_run(parameters(request, allowed={"dryRun"}))
        _need_publisher(self)
        metadata, spec = _checked(self.sent)
        expected = expected_version(request, _record_of(name).resource_version)
        patch: dict[str, Any] = {"spec": spec} if spec else {}
        kept = {member: metadata[member] for member in ("labels", "annotations") if member in metadata}
        if kept:
            patch["metadata"] = kept
        try:
            written = services.patch_class(
                access=self.access,
                gateway=self.gateway,
                name=name,
                patch=patch,
                resource_version=expected or metadata.get("resourceVersion"),
                dry_run=is_dry,
            )
        except Conflict as error:
            raise (stale() if expected else error) from error
        return _answer(written)

    @schema.writes("deleteClass", {204: None}, parameters=[schema.DRY_RUN, schema.IF_MATCH])
    def delete(self, request: Request, name: str) -> HttpResponse:
        is_dry = is_dry_run(parameters(request, allowed={"dryRun"}))
        _need_publisher(self)
        record = _record_of(name)
        expected = expected_version(request, record.resource_version)
        try:
            services.delete_class(
                access=self.access,
                gateway=self.gateway,
                name=name,
                uid=record.uid,
                resource_version=expected,
                dry_run=is_dry,
            )
        except services.HasClaims as error:
            raise ProblemRaised(_in_use(error)) from error
        except Conflict as error:
            raise (stale() if expected else error) from error
        return HttpResponse(status=204)


class Nodes(ApiView):
    """The nodes with their stock. To everybody but hosters they do not exist."""

    @schema.reads(
        "listNodes",
        schema.list_of("Node"),
        parameters=[
            schema.LIMIT,
            schema.CONTINUE,
            schema.query("ready", "true or false.", bool),
            schema.query("cordoned", "true or false.", bool),
        ],
    )
    def get(self, request: Request) -> HttpResponse:
        self.need_hoster()
        found = parameters(request, allowed=PAGE | {"ready", "cordoned"})
        wanted = {name: is_true(found, name) for name in ("ready", "cordoned") if name in found}
        page, token = raw_page(NodeRecord.objects.filter(**wanted), ("name",), page_request(found))
        stock = _stock_of(name for name, _ in page)
        items = (with_member(bytes(body), "stock", stock[name]) for name, body in page)
        return list_answer(items, kind="NodeList", api_version="v1", next_token=token)


class OneNode(ApiView):
    """One node with its stock."""

    @schema.reads("readNode", schema.ref("Node"))
    def get(self, request: Request, name: str) -> HttpResponse:
        self.need_hoster()
        parameters(request)
        record = NodeRecord.objects.filter(name=name).first()
        if record is None:
            raise not_found()
        body = with_member(bytes(record.body), "stock", _stock_of([name])[name])
        return object_answer(body, resource_version=record.resource_version)


def _need_publisher(view: ApiView) -> None:
    """Offers are known to everyone, so this is a 403. The API server has the last word."""
    if not view.access.is_hoster:
        raise forbidden("Offers are published and edited by hosters.")


def _record_of(name: str) -> ClassRecord:
    record = ClassRecord.objects.filter(name=name).first()
    if record is None:
        raise not_found()
    return record


def _checked(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Give metadata and spec of a class or of a patch of one. The rest is for the API server to check."""
    faults = [FieldCause(name, "is not a known field") for name in sorted({*body} - _TOP)]
    for name, expected in (("apiVersion", API_VERSION), ("kind", "GPUClass")):
        if body.get(name, expected) != expected:
            faults.append(FieldCause(name, f"must be {expected}"))
    faults += [
        FieldCause(name, "must be an object")
        for name in ("metadata", "spec")
        if not isinstance(body.get(name) or {}, dict)
    ]
    if isinstance(body.get("metadata"), dict):
        faults += metadata_faults(body["metadata"])
    if faults:
        raise InvalidBody(tuple(faults))
    return body.get("metadata") or {}, body.get("spec") or {}


def _name_of(metadata: Mapping[str, Any]) -> str:
    name = metadata.get("name")
    if fault := name_fault("" if name is None else name):
        raise InvalidBody((FieldCause("metadata.name", fault),))
    return str(name)


def _stock_of(names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    stock: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for cell in NodeStock.objects.filter(node__in=list(names)).order_by("node", "resource"):
        stock[cell.node].append(
            {
                "resource": cell.resource,
                "capacity": cell.capacity,
                "allocatable": cell.allocatable,
                "held": cell.held,
                "inUse": cell.in_use,
                "foreign": cell.foreign,
                "free": cell.free,
                "overCommitted": cell.over_committed,
            }
        )
    return stock


def _answer(written: services.Written, *, status: int = 200) -> HttpResponse:
    return object_answer(
        written.raw,
        resource_version=written.gpu_class.metadata.resource_version,
        status=status,
        warnings=written.warnings,
    )


def _in_use(error: services.HasClaims) -> Problem:
    orders = "1 order holds" if error.claims == 1 else f"{error.claims} orders hold"
    return Problem(
        status=409,
        title="The offer is in use",
        detail=f"{orders} this offer. Release them first.",
        reason="ClassInUse",
    )
