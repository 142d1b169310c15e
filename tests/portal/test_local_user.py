"""`manage.py local_user` makes people who may sign in where there is no demo."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from portal.models import User

PASSWORD = "correct horse battery"

pytestmark = pytest.mark.django_db


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n{PASSWORD}\n"))


@pytest.mark.usefixtures("typed")
def test_a_new_user_has_the_groups_and_may_sign_in(client: Client) -> None:
    call_command("local_user", "dora", "--group", "tenant-acme-use", "--group", "tenant-globex-view")

    assert User.objects.get(username="dora").group_names == ("tenant-acme-use", "tenant-globex-view")
    assert client.post("/login/", {"username": "dora", "password": PASSWORD}).status_code == 302


@pytest.mark.usefixtures("typed")
def test_a_second_call_changes_the_groups() -> None:
    call_command("local_user", "dora", "--group", "tenant-acme-use")

    call_command("local_user", "dora", "--group", "tenant-acme-view")

    assert User.objects.get(username="dora").group_names == ("tenant-acme-view",)


def test_a_weak_password_makes_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))

    with pytest.raises(CommandError, match="too short"):
        call_command("local_user", "dora")

    assert not User.objects.filter(username="dora").exists()


@pytest.mark.usefixtures("typed")
def test_a_user_of_the_demo_is_left_alone() -> None:
    User.objects.create(username="alice", is_demo=True)

    with pytest.raises(CommandError, match="demo"):
        call_command("local_user", "alice", "--group", "cozystack-cluster-admin")
