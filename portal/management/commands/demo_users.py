"""`python manage.py demo_users`: make the demo's users. Refuses to run unless DEMO=1."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from portal.models import User

PASSWORD: Final = "demo"  # noqa: S105  # known to everybody: such a user cannot sign in unless the demo is on
USERS: Final = {
    "hoster": settings.HOSTER_GROUP,
    "alice": "tenant-acme-use",
    "bob": "tenant-acme-view",
    "charlie": "tenant-globex-use",
    "admin-acme": "tenant-acme-admin",
}


class Command(BaseCommand):
    help = "Make the demo's users, each with the password of the demo. Needs DEMO=1."

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError(
                "Demo users have a password that everybody knows. Set DEMO=1 if this is a demo."
            )
        for username, group_name in USERS.items():
            user, is_new = User.objects.get_or_create(username=username, defaults={"is_demo": True})
            if not user.is_demo:
                raise CommandError(f"{username} exists and is no demo user.")
            if is_new:
                user.set_password(PASSWORD)
                user.save(update_fields=["password"])
            group, _ = Group.objects.get_or_create(name=group_name)
            user.groups.set([group])
        self.stdout.write(f"Demo users: {', '.join(USERS)}. Password: {PASSWORD}")
