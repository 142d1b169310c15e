from __future__ import annotations

import pytest

from gpu.fit import Numbers, Reason, Refusal
from gpu.sentences import refusals_from_causes, refusals_to_causes, sentence

BUDGET: Numbers = {
    "asked": 2,
    "used": 3,
    "limit": 4,
    "key": "gpu.cozystack.io/l40s",
    "quota": "tenant-acme/tenant-quota",
}


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            Refusal(Reason.NO_NODE_FITS, {"asked": 4, "free": 8, "maxFreePerNode": 3}),
            "You ask for 4. 8 are free, but no single node has more than 3.",
        ),
        (Refusal(Reason.NO_CAPACITY, {"asked": 4, "free": 0}), "You ask for 4. None is free."),
        (Refusal(Reason.NO_CAPACITY, {"asked": 4, "free": 1}), "You ask for 4. 1 is free."),
        (
            Refusal(Reason.COUNT_ABOVE_MAX, {"asked": 2, "max": 1}),
            "You ask for 2. One VM may take at most 1 of this offer.",
        ),
        (
            Refusal(Reason.SET_NODE_FULL, {"asked": 2, "freeOnSetNode": 0}),
            "You ask for 2. The set's other GPUs are on a node where none is free.",
        ),
        (
            Refusal(Reason.CLASS_BUDGET_EXCEEDED, BUDGET),
            "You ask for 2. The budget allows 4 of this offer and 3 are used (gpu.cozystack.io/l40s in tenant-acme/tenant-quota).",
        ),
        (
            Refusal(Reason.TOTAL_BUDGET_EXCEEDED, BUDGET | {"used": 1}),
            "You ask for 2. The budget allows 4 GPUs in all and 1 is used (gpu.cozystack.io/l40s in tenant-acme/tenant-quota).",
        ),
        (
            Refusal(Reason.CLASS_BUDGET_EXCEEDED, BUDGET | {"limit": 0}),
            "You ask for 2. The budget allows none of this offer (gpu.cozystack.io/l40s in tenant-acme/tenant-quota).",
        ),
        (Refusal(Reason.CAPACITY_UNKNOWN), "What is free is not known right now."),
        (
            Refusal(Reason.CAPACITY_UNKNOWN, {"age": 90}),
            "What is free is not known right now: the last figures are 90 s old.",
        ),
        (
            Refusal(Reason.CAPACITY_UNKNOWN, {"age": 119}),
            "What is free is not known right now: the last figures are 119 s old.",
        ),
        (
            Refusal(Reason.CAPACITY_UNKNOWN, {"age": 2407}),
            "What is free is not known right now: the last figures are 40 min old.",
        ),
        (
            Refusal(Reason.CAPACITY_UNKNOWN, {"age": 7200}),
            "What is free is not known right now: the last figures are 2 h old.",
        ),
        (Refusal(Reason.CLASS_NOT_FOUND), "This offer does not exist."),
        (Refusal(Reason.NO_ELIGIBLE_NODE), "No node serves this offer at the moment."),
    ],
)
def test_the_sentence_names_the_numbers(refusal: Refusal, words: str) -> None:
    assert sentence(refusal) == words


def test_every_reason_has_words_even_without_numbers() -> None:
    for reason in Reason:
        assert sentence(Refusal(reason)).endswith(".")


def test_refusals_survive_the_way_over_the_wire() -> None:
    refusals = tuple(Refusal(reason, BUDGET) for reason in Reason)

    causes = refusals_to_causes(refusals)

    assert refusals_from_causes((c["reason"], c["field"], c["message"]) for c in causes) == refusals
    assert {c["field"] for c in causes} == {"spec.className", "spec.count", "spec.setName"}


def test_causes_of_others_are_passed_over_and_broken_numbers_do_not_hide_a_reason() -> None:
    causes = [
        ("FieldValueInvalid", "spec.count", "no"),
        ("NoCapacity", "spec.count", "{"),
        ("NoNodeFits", "", '{"asked": [1]}'),
    ]

    assert refusals_from_causes(causes) == (Refusal(Reason.NO_CAPACITY), Refusal(Reason.NO_NODE_FITS))
