"""The app of the REST API's own table."""

from __future__ import annotations

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "portal.api"
    label = "api"
    default_auto_field = "django.db.models.BigAutoField"
