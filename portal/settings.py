"""Django settings."""

from __future__ import annotations

SECRET_KEY = "not-a-secret"  # noqa: S105
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes"]
USE_TZ = True
