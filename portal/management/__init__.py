"""Commands of the portal: `python manage.py <name>`."""

from __future__ import annotations
