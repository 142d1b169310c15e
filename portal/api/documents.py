"""The OpenAPI document at /api/schema/, and a page to read it served from this site alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from portal.api import problems
from portal.api.authentication import BrowserSession, LocalBasic


class Document(SpectacularAPIView):
    """The document, as YAML or JSON."""

    authentication_classes = (LocalBasic, BrowserSession)
    api_version = None
    custom_settings = {  # noqa: RUF012  # the base class declares it so
        "OAS_VERSION": "3.1.0",
        "SCHEMA_PATH_PREFIX": "/api/v1",
        "POSTPROCESSING_HOOKS": ["portal.api.schema.add_components"],
    }

    def get_exception_handler(self) -> Callable[[Exception, Any], HttpResponse]:
        return problems.handle


class Page(SpectacularSwaggerSplitView):
    """The page. Its script comes from an address of its own, as the content security policy wants."""

    authentication_classes = (BrowserSession, LocalBasic)
