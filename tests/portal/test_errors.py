"""What a failure means to a person, and to a program."""

from __future__ import annotations

import pytest

from gpu.fit import Reason, Refusal
from gpu.sentences import refusals_to_causes
from kube import errors as kube
from portal.errors import from_kube_error, refused

NO_NODE_FITS = Refusal(Reason.NO_NODE_FITS, {"asked": 4, "free": 8, "maxFreePerNode": 3})


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [
        (kube.Unavailable("refused"), 503, 5),
        (kube.Unavailable("busy", code=429, retry_after_seconds=2), 503, 2),
        (kube.Unauthorized("expired", code=401), 503, 5),
        (kube.Forbidden("no", code=403), 403, None),
        (kube.NotFound("no", code=404), 404, None),
        (kube.Conflict("later", code=409, reason="Conflict"), 409, None),
        (kube.AlreadyExists("there", code=409, reason="AlreadyExists"), 409, None),
        (kube.Denied("no", code=409), 409, None),
        (kube.Invalid("no", code=422, reason="Invalid"), 422, None),
        (kube.BadRequest("strict decoding error", code=400), 400, None),
        (kube.Gone("old", code=410), 503, 5),
        (kube.Unreadable("?", code=200), 502, None),
        (kube.Unexpected("?", code=418), 502, None),
    ],
)
def test_every_failure_has_a_status_and_words_of_our_own(
    error: kube.KubeError, status: int, retry: int | None
) -> None:
    problem = from_kube_error(error)

    assert (problem.status, problem.retry_after_seconds) == (status, retry)
    assert problem.title
    assert problem.as_json()["status"] == status


def test_a_refusal_of_admission_keeps_every_reason_with_its_numbers() -> None:
    causes = tuple(
        kube.Cause(cause["reason"], cause["field"], cause["message"])
        for cause in refusals_to_causes(
            [NO_NODE_FITS, Refusal(Reason.COUNT_ABOVE_MAX, {"asked": 4, "max": 2})]
        )
    )
    denied = kube.Denied("admission webhook denied", code=409, reason="NoNodeFits", causes=causes)

    body = from_kube_error(denied).as_json()

    assert body["status"] == 409
    assert body["type"] == "urn:gpu-portal:problem:NoNodeFits"
    assert body["reasons"][0] == {
        "reason": "NoNodeFits",
        "asked": 4,
        "free": 8,
        "maxFreePerNode": 3,
        "message": "You ask for 4. 8 are free, but no single node has more than 3.",
    }
    assert [reason["reason"] for reason in body["reasons"]] == ["NoNodeFits", "CountAboveMax"]


def test_another_webhooks_refusal_is_told_in_its_own_words() -> None:
    denied = kube.Denied('admission webhook "x.example" denied the request: no holds on Fridays', code=403)

    assert from_kube_error(denied).detail == "no holds on Fridays"


def test_without_the_controller_capacity_is_unknown_and_nothing_was_stored() -> None:
    error = kube.Unavailable(
        'Internal error occurred: failed calling webhook "gpuclaims.gpu.cozystack.io": connection refused',
        code=500,
    )

    problem = from_kube_error(error)

    assert (problem.status, problem.reason) == (409, "CapacityUnknown")
    assert problem.retry_after_seconds == 5


def test_fields_at_fault_are_named_with_the_messages_of_the_schema() -> None:
    error = kube.Invalid(
        "x is invalid",
        code=422,
        reason="Invalid",
        causes=(kube.Cause("FieldValueInvalid", "spec.tolerations[1]", "operator Exists takes no value"),),
    )

    assert from_kube_error(error).as_json()["causes"] == [
        {"field": "spec.tolerations[1]", "message": "operator Exists takes no value"}
    ]


def test_unknown_capacity_says_when_to_try_again() -> None:
    assert refused([Refusal(Reason.CAPACITY_UNKNOWN, {"age": 40})]).retry_after_seconds == 5
    assert refused([NO_NODE_FITS]).retry_after_seconds is None
