"""`python manage.py worker`: run the tasks that the clock or a person asks for."""

from __future__ import annotations

import sys
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from portal.celery import app

NO_TALK: Final = ("--without-gossip", "--without-mingle", "--without-heartbeat")
"""What Celery's workers tell each other, which nobody here listens to. The heartbeat would do harm besides: it is sent from the
worker's main loop and waits for a broker that is away without end, deaf to the signal that asks the worker to stop."""


class Command(BaseCommand):
    help = "Run the portal's tasks, until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--concurrency", type=int, default=2, help="tasks at a time, each in a thread")

    def handle(self, *args: Any, concurrency: int, **options: Any) -> None:
        # Threads: tasks wait for the cluster and the database, and a worker that is killed leaves no children behind.
        pool = ("--pool", "threads", "--concurrency", str(concurrency))
        sys.exit(app.worker_main(["worker", *pool, "--loglevel", "INFO", *NO_TALK]))
