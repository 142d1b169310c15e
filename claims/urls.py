"""Addresses of the catalog and of a tenant's pages."""

from __future__ import annotations

from django.urls import path

from claims import bulk_views, catalog_page, tenants_page, views

urlpatterns = [
    path("", catalog_page.catalog, name="catalog"),
    path("hoster/holds/", views.all_holds, name="all-holds"),
    path("hoster/tenants/", tenants_page.tenants, name="tenants"),
    path("tenants/<str:ns>/order/", views.order, name="order"),
    path("tenants/<str:ns>/order/verdict/", views.order_verdict, name="order-verdict"),
    path("tenants/<str:ns>/gpus/", views.holds, name="holds"),
    path("tenants/<str:ns>/gpus/<str:name>/", views.hold, name="hold"),
    path("tenants/<str:ns>/gpus/<str:name>/release/", views.release, name="release"),
    path("tenants/<str:ns>/release/", bulk_views.release_many, name="release-many"),
    path("tenants/<str:ns>/budget/", views.budget, name="budget"),
    path("tenants/<str:ns>/history/", views.history, name="history"),
]
