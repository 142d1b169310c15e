"""The Celery application: `python manage.py worker` and `celery -A portal beat`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, cast

from celery import Celery, shared_task

P = ParamSpec("P")

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("portal")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


class Task(Protocol[P]):
    """A function that a worker runs. Celery ships no types; this is what we use of it."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Run it here and now."""

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> object:
        """Have a worker run it. Raises kombu.exceptions.OperationalError when the broker is away."""


def task(**options: Any) -> Callable[[Callable[P, None]], Task[P]]:
    """Make the function a task."""
    return cast("Callable[[Callable[P, None]], Task[P]]", shared_task(**options))
