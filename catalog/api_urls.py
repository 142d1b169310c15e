"""Addresses of the hoster's part of the API."""

from __future__ import annotations

from django.urls import path

from catalog import api

urlpatterns = [
    path("classes/", api.Classes.as_view(), name="api-classes"),
    path("classes/<str:name>/", api.OneClass.as_view(), name="api-class"),
    path("nodes/", api.Nodes.as_view(), name="api-nodes"),
    path("nodes/<str:name>/", api.OneNode.as_view(), name="api-node"),
]
