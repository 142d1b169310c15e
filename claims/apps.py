"""The app of the tenant's workplace."""

from __future__ import annotations

from django.apps import AppConfig


class ClaimsConfig(AppConfig):
    name = "claims"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """History is written from what the mirror sees."""
        from claims.history import record_changes
        from kube.kinds import GPU_CLAIMS
        from portal.mirror import on_change

        on_change(GPU_CLAIMS, record_changes)
