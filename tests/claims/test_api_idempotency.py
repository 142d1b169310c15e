from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from claims.orders import ORDER_KEY_ANNOTATION
from portal.api.idempotency import KEPT_FOR, TAKEN_OVER_AFTER, forget_expired
from portal.api.models import IdempotentRequest
from tests.fixtures.live import Live
from tests.fixtures.on_disk import at_once, on_disk
from tests.fixtures.rest import Rest, problem

As = Callable[..., Rest]
CLAIMS = "tenants/tenant-acme/claims/"
KEY = {"Idempotency-Key": "a-key"}


def claim(name: str | None = "two", **spec: object) -> dict[str, Any]:
    return {"metadata": {"name": name} if name else {}, "spec": {"className": "l40s", **spec}}


def test_the_same_key_and_body_get_the_same_answer(live: Live, rest: As) -> None:
    alice = rest("alice")

    first = alice.send("POST", CLAIMS, claim(None), headers=KEY)
    again = alice.send("POST", CLAIMS, claim(None), headers=KEY)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    for header in ("ETag", "Location", "Content-Type"):
        assert again[header] == first[header]
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    assert len(live.claims()) == 1


def test_a_refusal_is_kept_as_well(live: Live, rest: As) -> None:
    alice = rest("alice")

    first = alice.send("POST", CLAIMS, claim(count=0), headers=KEY)
    again = alice.send("POST", CLAIMS, claim(count=0), headers=KEY)

    assert problem(again, 422) == problem(first, 422)
    assert again["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(("path", "body"), [(CLAIMS, claim("other")), (f"{CLAIMS}?dryRun=All", claim("two"))])
def test_the_same_key_for_another_request_is_refused(
    live: Live, rest: As, path: str, body: dict[str, Any]
) -> None:
    alice = rest("alice")
    alice.send("POST", CLAIMS, claim("two"), headers=KEY)

    problem(alice.send("POST", path, body, headers=KEY), 422)

    assert len(live.claims()) == 1


def test_a_key_belongs_to_one_person_and_one_address(live: Live, rest: As) -> None:
    body = claim(None)

    first = rest("alice").send("POST", CLAIMS, body, headers=KEY)
    second = rest("hoster").send("POST", CLAIMS, body, headers=KEY)
    third = rest("charlie").send("POST", "tenants/tenant-globex/claims/", body, headers=KEY)

    assert {first.status_code, second.status_code, third.status_code} == {201}
    assert len({answer.json()["metadata"]["uid"] for answer in (first, second, third)}) == 3


def test_the_key_is_not_readable_on_the_claim(live: Live, rest: As) -> None:
    rest("alice").send("POST", CLAIMS, claim(), headers=KEY)

    (found,) = live.claims()
    assert "a-key" not in found.metadata.annotations[ORDER_KEY_ANNOTATION]


def test_a_lost_row_makes_no_second_claim(live: Live, rest: As) -> None:
    alice = rest("alice")
    first = alice.send("POST", CLAIMS, claim(None), headers=KEY)
    IdempotentRequest.objects.all().delete()

    again = alice.send("POST", CLAIMS, claim(None), headers=KEY)

    assert again.status_code == 200
    assert again.json()["metadata"]["uid"] == first.json()["metadata"]["uid"]


def test_while_the_first_is_at_work_the_second_is_asked_to_wait(live: Live, rest: As) -> None:
    alice = rest("alice")
    alice.send("POST", CLAIMS, claim(), headers=KEY)
    IdempotentRequest.objects.update(answered_at=None)

    response = alice.send("POST", CLAIMS, claim(), headers=KEY)

    problem(response, 409)
    assert response["Retry-After"] == "1"


def test_what_a_dead_sender_began_is_taken_over(live: Live, rest: As) -> None:
    alice = rest("alice")
    alice.send("POST", CLAIMS, claim(), headers=KEY)
    long_ago = timezone.now() - TAKEN_OVER_AFTER
    IdempotentRequest.objects.update(answered_at=None, claimed_at=long_ago)

    assert alice.send("POST", CLAIMS, claim(), headers=KEY).status_code == 200
    assert len(live.claims()) == 1


def test_keys_expire(live: Live, rest: As) -> None:
    alice = rest("alice")
    alice.send("POST", CLAIMS, claim("one"), headers=KEY)
    IdempotentRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert alice.send("POST", CLAIMS, claim("two"), headers=KEY).status_code == 201
    assert forget_expired(timezone.now()) == 0
    assert forget_expired(timezone.now() + KEPT_FOR) == 1


@pytest.mark.parametrize("key", ["x" * 256, "tab\there", "\x7f"])
def test_a_key_that_cannot_be_one_is_refused(live: Live, rest: As, key: str) -> None:
    problem(rest("alice").send("POST", CLAIMS, claim(), headers={"Idempotency-Key": key}), 400)


@pytest.mark.django_db(transaction=True)
def test_many_at_once_with_one_key_make_one_claim(live: Live, rest: As, tmp_path: Path) -> None:
    clients = [rest("alice") for _ in range(8)]

    with on_disk(tmp_path):
        answers = at_once(
            [partial(client.send, "POST", CLAIMS, claim(None), headers=KEY) for client in clients]
        )

    assert len(live.claims()) == 1
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert 201 in {answer.status_code for answer in answers}
