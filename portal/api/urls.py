"""The OpenAPI document and its page."""

from __future__ import annotations

from django.urls import path

from portal.api.documents import Document, Page

urlpatterns = [
    path("schema/", Document.as_view(), name="api-schema"),
    path("docs/", Page.as_view(url_name="api-schema"), name="api-docs"),
]
