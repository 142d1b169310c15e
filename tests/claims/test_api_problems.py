from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable

import pytest
from pytest_django import Settings

from tests.builders import a_claim
from tests.fixtures.rest import Mirrored, Rest, problem

As = Callable[..., Rest]
CLAIMS = "tenants/tenant-acme/claims/"


@pytest.mark.parametrize("path", ["classes/", CLAIMS, "tenants/", "nodes/"])
def test_nobody_is_told_to_sign_in(rest: As, path: str) -> None:
    response = rest(None).get(path)

    problem(response, 401)
    assert response["WWW-Authenticate"].startswith("Basic ")


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b'{"a": NaN}', b"[" * 100_000, b'{"spec": {}}x'],
)
def test_a_body_that_is_no_json_object_is_a_problem(rest: As, body: bytes) -> None:
    problem(rest("alice").send("POST", CLAIMS, body), 400)


@pytest.mark.parametrize(
    "media",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/yaml",
        "multipart/form-data; boundary=x",
    ],
)
def test_another_format_is_a_problem(rest: As, media: str) -> None:
    response = rest("alice").client.post(f"/api/v1/{CLAIMS}", b"a=1", content_type=media)

    problem(response, 415)


def test_another_method_is_a_problem(rest: As) -> None:
    response = rest("alice").send("PUT", CLAIMS, {})

    problem(response, 405)
    assert "POST" in response["Allow"]


def test_another_representation_is_a_problem(rest: As) -> None:
    problem(rest("alice").get(CLAIMS, headers={"Accept": "text/html"}), 406)
    assert rest("alice").get(CLAIMS, headers={"Accept": "text/html, */*"}).status_code == 200


def test_too_large_a_body_is_a_problem(rest: As) -> None:
    problem(rest("alice").send("POST", CLAIMS, b'{"a": "' + b"x" * 2_000_000 + b'"}'), 413)


def test_an_address_without_its_last_slash_is_sent_on_with_its_method(rest: As) -> None:
    alice = rest("alice")

    response = alice.client.post("/api/v1/classes?dryRun=All", b"{}", content_type="application/json")

    assert (response.status_code, response["Location"]) == (308, "/api/v1/classes/?dryRun=All")
    problem(alice.get("classes/l40s/what-if/"), 404)
    problem(alice.get("nowhere"), 404)


def test_a_fault_of_ours_is_a_problem_too(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_claim("one"))
    from portal.models import ClaimRecord

    ClaimRecord.objects.update(body=b"not json")
    alice = rest("alice")
    alice.client.raise_request_exception = False

    problem(alice.get(CLAIMS), 500)


def test_whoever_guesses_passwords_has_to_wait(rest: As, settings: Settings) -> None:
    settings.AXES_FAILURE_LIMIT = 2
    wrong = {"Authorization": "Basic " + b64encode(b"alice:wrong").decode()}

    for _ in range(2):
        rest(None).get("classes/", headers=wrong)

    problem(rest(None).get("classes/", headers=wrong), 429)
