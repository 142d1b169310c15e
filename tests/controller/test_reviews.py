from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from controller.admission import AdmissionDesk
from gpu.fit import Order, Reason, Refusal
from gpu.health import Harm
from gpu.resources import GPUClass
from gpu.sentences import refusals_from_causes


class FixedJudge:
    """A term of leadership with its mind made up."""

    def __init__(
        self, *refusals: Refusal, unknown_for: int | None = None, claims: int = 0, harm: Harm | None = None
    ) -> None:
        self._refusals = refusals
        self._unknown_for = unknown_for
        self._claims = claims
        self._harm = harm or Harm()
        self.asked: list[tuple[str, Order, bool]] = []

    def unknown_for(self) -> int | None:
        return self._unknown_for

    def judge(self, uid: str, order: Order, *, dry_run: bool) -> Sequence[Refusal]:
        self.asked.append((uid, order, dry_run))
        return self._refusals

    def claims_of(self, class_name: str) -> int:
        return self._claims

    def harm_of_edit(self, edited: GPUClass) -> Harm:
        return self._harm


def a_review(*, operation: str = "CREATE", dry_run: bool = False, **request: Any) -> bytes:
    claim = {
        "apiVersion": "gpu.cozystack.io/v1alpha1",
        "kind": "GPUClaim",
        "metadata": {"name": "train", "uid": "claim-uid"},
        "spec": {"className": "h100", "count": 4},
    }
    request = {
        "uid": "review-uid",
        "operation": operation,
        "namespace": "tenant-acme",
        "dryRun": dry_run,
        "object": claim,
        **request,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()


def answer_of(desk: AdmissionDesk, body: bytes) -> dict[str, Any]:
    review = json.loads(desk.review_claim(body))
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = review["response"]
    assert response["uid"] == "review-uid"
    return response


def a_desk(judge: FixedJudge | None) -> AdmissionDesk:
    desk = AdmissionDesk()
    desk.judge = judge
    return desk


def test_an_order_that_fits_is_admitted_and_charged_under_the_uid_of_the_claim() -> None:
    judge = FixedJudge()

    response = answer_of(a_desk(judge), a_review())

    assert response == {"uid": "review-uid", "allowed": True}
    assert judge.asked == [("claim-uid", Order("tenant-acme", "h100", 4), False)]


def test_a_dry_run_is_judged_as_one() -> None:
    judge = FixedJudge()

    answer_of(a_desk(judge), a_review(dry_run=True))

    assert judge.asked == [("claim-uid", Order("tenant-acme", "h100", 4), True)]


def test_a_refusal_carries_every_reason_and_its_numbers_as_data() -> None:
    refusals = (
        Refusal(Reason.NO_NODE_FITS, {"asked": 4, "free": 8, "maxFreePerNode": 3}),
        Refusal(Reason.COUNT_ABOVE_MAX, {"asked": 4, "max": 1}),
    )

    response = answer_of(a_desk(FixedJudge(*refusals)), a_review())

    status = response["status"]
    assert (response["allowed"], status["code"], status["reason"]) == (False, 409, "NoNodeFits")
    assert "You ask for 4. 8 are free, but no single node has more than 3." in status["message"]
    causes = [(cause["reason"], cause["field"], cause["message"]) for cause in status["details"]["causes"]]
    assert refusals_from_causes(causes) == refusals
    assert "retryAfterSeconds" not in status["details"]


@pytest.mark.parametrize(
    "judge",
    [None, FixedJudge(unknown_for=0), FixedJudge(unknown_for=12)],
    ids=["follower", "not synced", "stale"],
)
def test_whoever_does_not_know_says_so_and_when_to_ask_again(judge: FixedJudge | None) -> None:
    response = answer_of(a_desk(judge), a_review())

    status = response["status"]
    assert (response["allowed"], status["code"], status["reason"]) == (False, 409, "CapacityUnknown")
    assert status["details"]["retryAfterSeconds"] > 0
    assert judge is None or judge.asked == []


def test_the_age_of_what_is_known_is_told() -> None:
    response = answer_of(a_desk(FixedJudge(unknown_for=12)), a_review())

    assert json.loads(response["status"]["details"]["causes"][0]["message"]) == {"age": 12}


@pytest.mark.parametrize("operation", ["UPDATE", "DELETE", "CONNECT"])
def test_what_is_no_order_is_none_of_its_business(operation: str) -> None:
    judge = FixedJudge(Refusal(Reason.NO_CAPACITY, {"asked": 4, "free": 0}))

    assert answer_of(a_desk(judge), a_review(operation=operation))["allowed"] is True


def test_a_claim_of_an_unknown_shape_is_refused_and_not_guessed_at() -> None:
    judge = FixedJudge()

    response = answer_of(a_desk(judge), a_review(object={"metadata": {}, "spec": {"count": 4}}))

    assert (response["allowed"], response["status"]["code"]) == (False, 422)
    assert judge.asked == []


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"request":{}}', b"\xff", b"[1]"])
def test_a_body_that_is_no_review_is_an_error_of_the_caller(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        a_desk(FixedJudge()).review_claim(body)


def test_a_class_that_claims_name_is_not_deleted() -> None:
    body = a_review(operation="DELETE", name="h100", object=None)

    response = json.loads(a_desk(FixedJudge(claims=3)).review_class(body))["response"]

    status = response["status"]
    assert (response["allowed"], status["code"], status["reason"]) == (False, 409, "ClassInUse")
    assert status["message"].startswith("3 claims use h100")


def test_a_class_nobody_claims_is_deleted() -> None:
    body = a_review(operation="DELETE", name="h100", object=None)

    assert json.loads(a_desk(FixedJudge()).review_class(body))["response"]["allowed"] is True


def an_edit(**spec: Any) -> bytes:
    source = {"devicePlugin": {"resourceName": "nvidia.com/H100"}}
    spec = {"vendor": "NVIDIA", "model": "H100", "mode": "passthrough", "source": source, **spec}
    edited = {"metadata": {"name": "h100"}, "spec": spec}
    return a_review(operation="UPDATE", name="h100", object=edited, oldObject=edited)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (Harm(outgrown=1), "hurts 1 hold: 1 has more units than one order may have now."),
        (
            Harm(outgrown=2, astray=3),
            "hurts 5 holds: 2 have more units than one order may have now; 3 sit on a node the offer does not choose any more.",
        ),
        (Harm(astray=1), "hurts 1 hold: 1 sits on a node"),
    ],
)
def test_an_edit_that_hurts_holds_is_admitted_with_their_number(harm: Harm, words: str) -> None:
    response = json.loads(a_desk(FixedJudge(harm=harm)).review_class(an_edit()))["response"]

    assert response["allowed"] is True
    (warning,) = response["warnings"]
    assert words in warning
    assert len(warning) <= 256, "API servers cut longer ones"


def test_an_edit_that_hurts_nobody_needs_no_words() -> None:
    response = json.loads(a_desk(FixedJudge()).review_class(an_edit()))["response"]

    assert response == {"uid": "review-uid", "allowed": True}


@pytest.mark.parametrize("judge", [None, FixedJudge(unknown_for=0)], ids=["follower", "not synced"])
def test_an_edit_is_possible_when_nobody_knows_what_it_does(judge: FixedJudge | None) -> None:
    response = json.loads(a_desk(judge).review_class(an_edit()))["response"]

    assert response["allowed"] is True
    assert "not known" in response["warnings"][0]


def test_an_edit_to_a_shape_not_known_here_is_admitted_with_a_word() -> None:
    response = json.loads(a_desk(FixedJudge()).review_class(an_edit(mode="timeslice")))["response"]

    assert response["allowed"] is True
    assert "not known" in response["warnings"][0]
