"""The app of the frame: the mirror's tables, users, and the start-up checks."""

from __future__ import annotations

from django.apps import AppConfig


class PortalConfig(AppConfig):
    name = "portal"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Make the project's Celery application the one that tasks belong to, follow the tenant tree, set up logging."""
        from django.conf import settings

        from portal import celery, deaf_worker, logs
        from portal.mirror import revisions

        celery.app.set_default()
        deaf_worker.watch_workers()
        revisions.watch_changes()
        logs.configure(as_json=settings.LOG_JSON, level=settings.LOG_LEVEL)
