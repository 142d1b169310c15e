"""Signing in and out, demo users, and forms of an older session."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from portal.models import User

Browse = Callable[[User], Client]
pytestmark = pytest.mark.django_db


@pytest.fixture
def demo(settings: Settings) -> None:
    settings.DEMO = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    call_command("demo_users", verbosity=0)


def test_the_demo_users_have_the_groups_of_the_demo(demo: None) -> None:
    groups = {user.username: user.group_names for user in User.objects.all()}

    assert groups == {
        "hoster": ("cozystack-cluster-admin",),
        "alice": ("tenant-acme-use",),
        "bob": ("tenant-acme-view",),
        "charlie": ("tenant-globex-use",),
        "admin-acme": ("tenant-acme-admin",),
    }


def test_making_the_demo_users_twice_changes_nothing(demo: None) -> None:
    before = dict(User.objects.values_list("username", "password"))

    call_command("demo_users", verbosity=0)

    assert dict(User.objects.values_list("username", "password")) == before


def test_demo_users_are_refused_where_there_is_no_demo(settings: Settings) -> None:
    settings.DEMO = False

    with pytest.raises(CommandError, match="DEMO=1"):
        call_command("demo_users")

    assert not User.objects.exists()


def test_a_real_user_is_never_made_a_demo_user(settings: Settings) -> None:
    settings.DEMO = True
    User.objects.create_user("alice", password="a real one")

    with pytest.raises(CommandError, match="no demo user"):
        call_command("demo_users")


def test_a_demo_user_signs_in_and_goes_where_she_was_heading(demo: None) -> None:
    client = Client()

    response = client.post(
        "/login/", {"username": "alice", "password": "demo", "next": "/tenants/tenant-acme/gpus/"}
    )

    assert response.status_code == 302
    assert response.headers["Location"] == "/tenants/tenant-acme/gpus/"
    assert client.session["_auth_user_id"]


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example",
        "javascript:alert(1)",
        "",
        "/logout/",
        "/sync/?a=1",
        "/theme/",
        "/nowhere/",
    ],
)
def test_the_login_leads_to_pages_of_ours_only(demo: None, target: str) -> None:
    response = Client().post("/login/", {"username": "alice", "password": "demo", "next": target})

    assert response.headers["Location"] == "/"


def test_without_the_demo_a_demo_user_can_neither_sign_in_nor_go_on(demo: None, settings: Settings) -> None:
    client = Client()
    assert client.post("/login/", {"username": "alice", "password": "demo"}).status_code == 302

    settings.DEMO = False

    assert client.get("/freshness/").headers["Location"].startswith("/login/")
    assert Client().post("/login/", {"username": "alice", "password": "demo"}).status_code == 422


def test_a_wrong_password_is_told_without_saying_what_was_wrong(demo: None) -> None:
    wrong = Client().post("/login/", {"username": "alice", "password": "no"})
    unknown = Client().post("/login/", {"username": "nobody", "password": "no"})

    assert wrong.status_code == unknown.status_code == 422
    without = [
        re.sub(rb'value="[^"]*"|data-now="\d+"', b"", response.content) for response in (wrong, unknown)
    ]
    assert without[0] == without[1]
    assert b"do not go together" in wrong.content


def test_who_guesses_too_often_has_to_wait(demo: None, settings: Settings) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    client = Client()
    answers = [
        client.post("/login/", {"username": "alice", "password": str(n)}).status_code for n in range(4)
    ]

    assert answers[-1] == 429
    right = client.post("/login/", {"username": "alice", "password": "demo"})
    assert right.status_code == 429
    assert right.headers["Retry-After"] == "900"
    assert Client().post("/login/", {"username": "bob", "password": "demo"}).status_code == 302


def test_signing_out_needs_a_post_and_ends_the_session(hoster: User, browse: Browse) -> None:
    client = browse(hoster)

    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").headers["Location"] == "/login/"
    assert client.get("/freshness/").headers["Location"].startswith("/login/")


def test_signing_out_twice_is_no_failure() -> None:
    assert Client().post("/logout/").headers["Location"] == "/login/"


def test_the_theme_can_be_chosen_before_signing_in() -> None:
    response = Client().post("/theme/", {"theme": "dark", "next": "/login/?next=/"})

    assert response.headers["Location"] == "/login/?next=/"
    assert response.cookies["theme"].value == "dark"


def a_browser(user: User) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user, backend="portal.login.LocalUserBackend")
    return client


def test_a_form_of_an_older_session_keeps_what_was_entered(hoster: User) -> None:
    client = a_browser(hoster)

    response = client.post(
        "/sync/?a=1",
        {"count": "2", "name": "<my gpu>", "csrfmiddlewaretoken": "old"},
        headers={"Origin": "http://testserver"},
    )

    assert response.status_code == 403
    text = response.content.decode()
    assert 'name="count" value="2"' in text
    assert 'name="name" value="&lt;my gpu&gt;"' in text
    assert 'value="old"' not in text
    assert 'action="/sync/?a=1"' in text
    assert 'href="/sync/' not in text


def test_who_is_signed_out_is_led_to_the_login_and_keeps_what_was_typed() -> None:
    response = Client(enforce_csrf_checks=True).post(
        "/sync/", {"count": "2"}, headers={"Origin": "http://testserver"}
    )

    assert response.status_code == 403
    assert b"You are signed out." in response.content
    assert b'name="count" value="2"' in response.content


def test_a_strangers_form_is_not_offered_again(hoster: User) -> None:
    for headers in ({"Origin": "https://evil.example"}, {}):
        response = a_browser(hoster).post("/sync/", {"count": "2"}, headers=headers)

        assert response.status_code == 403
        assert b'name="count"' not in response.content


def test_a_fragment_of_an_older_session_gets_one_line_and_no_page(hoster: User) -> None:
    response = a_browser(hoster).post(
        "/sync/", {"count": "2"}, headers={"Origin": "http://testserver", "HX-Request": "true"}
    )

    assert response.status_code == 403
    assert response.content.startswith(b"Your session changed.")
    assert b"<" not in response.content
