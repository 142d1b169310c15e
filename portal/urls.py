"""Every address of the portal. The workplaces bring their own, included by name."""

from __future__ import annotations

from django.urls import include, path

from portal import health, login, sync_now

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("login/", login.sign_in, name="login"),
    path("logout/", login.sign_out, name="logout"),
    path("sync/", sync_now.sync_now, name="sync-now"),
    path("api/", include("portal.api.urls")),
    path("api/v1/", include("catalog.api_urls")),
    path("api/v1/", include("claims.api_urls")),
    path("", include("catalog.urls")),
    path("", include("claims.urls")),
]

handler400 = "portal.answers.bad_request"
handler403 = "portal.answers.forbidden"
handler404 = "portal.answers.not_found"
handler500 = "portal.answers.server_error"
