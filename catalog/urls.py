"""Addresses of the hoster's workplace, and of the small things of every page."""

from __future__ import annotations

from django.urls import path

from catalog import offer_views, stock_views, views

urlpatterns = [
    path("hoster/", stock_views.overview, name="overview"),
    path("hoster/offers/", offer_views.offers, name="offers"),
    path("hoster/new-offer/", offer_views.offer_new, name="offer-new"),
    path("hoster/offers/<str:name>/", offer_views.offer_edit, name="offer-edit"),
    path("hoster/offers/<str:name>/delete/", offer_views.offer_delete, name="offer-delete"),
    path("hoster/nodes/", stock_views.nodes, name="nodes"),
    path("hoster/nodes/<str:name>/", stock_views.node, name="node"),
    path("freshness/", views.freshness, name="freshness"),
    path("theme/", views.theme, name="theme"),
]
