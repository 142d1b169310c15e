"""The base of every view of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import Resolver404, resolve
from django.utils import timezone
from drf_spectacular.openapi import AutoSchema
from rest_framework.parsers import BaseParser
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.schemas.inspectors import ViewInspector
from rest_framework.views import APIView

from kube.gateway import Gateway
from portal.access import Access, Right, access_of, check_tenant
from portal.api import idempotency, problems
from portal.api.authentication import BrowserSession, LocalBasic
from portal.api.bodies import MergePatch, StrictJSON
from portal.cluster import gateway_for
from portal.models import User


class ApiView(APIView):
    """One resource: JSON in, JSON or problem+json out, for users who are signed in."""

    authentication_classes = (LocalBasic, BrowserSession)
    permission_classes: Sequence[type[BasePermission]] = (IsAuthenticated,)
    renderer_classes = (JSONRenderer,)
    parser_classes: Sequence[type[BaseParser]] = (StrictJSON,)
    schema: ViewInspector | None = AutoSchema()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # Read once and kept: the parser, the CSRF check and the fingerprint of an Idempotency-Key all look at it.
        _ = request._request.body
        super().initial(request, *args, **kwargs)

    def get_exception_handler(self) -> Callable[[Exception, Any], HttpResponse]:
        return problems.handle

    @cached_property
    def access(self) -> Access:
        return access_of(self.request.user)

    @cached_property
    def gateway(self) -> Gateway:
        """A gateway that acts as the caller."""
        user = self.request.user
        assert isinstance(user, User)  # noqa: S101  # the permission saw to that
        return gateway_for(user)

    @property
    def sent(self) -> Mapping[str, Any]:
        """The JSON object in the body. Raises ParseError and UnsupportedMediaType."""
        body = self.request.data
        assert isinstance(body, dict)  # noqa: S101  # the parsers see to that
        return body

    def need_hoster(self) -> None:
        """For what others may not even know of. Raises Http404."""
        if not self.access.is_hoster:
            raise problems.not_found()

    def need_right(self, namespace: str, right: Right) -> None:
        """Raises Http404 for strangers, PermissionDenied for members without the right."""
        check_tenant(self.access, namespace, right)

    def once(self, act: Callable[[], HttpResponse]) -> HttpResponse:
        """Do a POST once for one Idempotency-Key, however often it is sent."""
        return idempotency.once(
            self.request._request,
            username=self.access.username,
            body=self.request._request.body,
            now=timezone.now(),
            act=act,
        )


class PatchableView(ApiView):
    """A resource that also takes merge patches by their own media type."""

    parser_classes = (StrictJSON, MergePatch)


class Nowhere(ApiView):
    """Every address that is none. One without its last slash is sent on, with method and body."""

    schema = None
    permission_classes: Sequence[type[BasePermission]] = ()

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.path.endswith("/") and _is_served(request.path + "/"):
            response = HttpResponseRedirect(request.get_full_path(force_append_slash=True))
            response.status_code = 308
            return response
        return problems.answer(problems.not_found().problem)


def _is_served(path: str) -> bool:
    try:
        found = resolve(path)
    except Resolver404:
        return False
    return getattr(found.func, "view_class", None) is not Nowhere
