"""`python manage.py local_user NAME --group GROUP`: make a local user, or change one's groups and password."""

from __future__ import annotations

import sys
from getpass import getpass
from typing import Any

from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from portal.models import User


class Command(BaseCommand):
    help = (
        "Make a local user with these Kubernetes groups, or give an existing one these groups and a new password. "
        "The password is asked for, or read from standard input."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--group",
            action="append",
            default=[],
            dest="groups",
            help="such as tenant-acme-use; may be repeated. The portal's rights must name it (deploy/rbac)",
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["name"]).first() or User(username=options["name"])
        if user.is_demo:
            raise CommandError(f"{user.username} is a user of the demo.")
        password = _password()
        try:
            validate_password(password, user)
            user.set_password(password)
            user.full_clean()
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        user.save()
        user.groups.set([Group.objects.get_or_create(name=name)[0] for name in options["groups"]])
        self.stdout.write(
            f"{user.username}: {', '.join(options['groups']) or 'no groups, sees the catalog only'}"
        )


def _password() -> str:
    return getpass("Password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
