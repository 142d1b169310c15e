"""Addresses of the tenant's part of the API, and the answer for every address that is none."""

from __future__ import annotations

from django.urls import path, re_path

from claims import api
from portal.api.views import Nowhere

urlpatterns = [
    path("claims/", api.AllClaims.as_view(), name="api-all-claims"),
    path("tenants/", api.Tenants.as_view(), name="api-tenants"),
    path("tenants/<str:ns>/claims/", api.Claims.as_view(), name="api-claims"),
    path("tenants/<str:ns>/claims/<str:name>/", api.OneClaim.as_view(), name="api-claim"),
    path("tenants/<str:ns>/budget/", api.Budget.as_view(), name="api-budget"),
    path("tenants/<str:ns>/events/", api.Events.as_view(), name="api-events"),
    re_path(r"^.*$", Nowhere.as_view()),
]
