from __future__ import annotations

from datetime import UTC, datetime, timedelta

from controller.line import Line
from gpu.corekinds import ObjectMeta
from gpu.resources import GPUClaim, GPUClaimSpec

START = datetime(2026, 11, 1, tzinfo=UTC)


def a_claim(name: str, *, age: int, class_name: str = "h100") -> GPUClaim:
    created_at = START - timedelta(seconds=age)
    return GPUClaim(
        metadata=ObjectMeta(name=name, namespace="t", creation_timestamp=created_at),
        spec=GPUClaimSpec(class_name=class_name),
    )


def test_the_oldest_is_first_whoever_joined_first() -> None:
    line = Line()
    young, old = a_claim("young", age=1), a_claim("old", age=9)
    line.join(young)
    line.join(old)
    line.join(young)

    assert line.waiting() == [("t", "old"), ("t", "young")]
    assert line.is_behind(young)
    assert not line.is_behind(old)
    assert not line.is_behind(a_claim("oldest", age=20))


def test_claims_of_other_classes_are_in_other_lines() -> None:
    line = Line()
    line.join(a_claim("old", age=9))

    assert not line.is_behind(a_claim("young", age=1, class_name="l40s"))


def test_whoever_becomes_first_is_named_once() -> None:
    line = Line()
    for name, age in (("c", 1), ("a", 3), ("b", 2)):
        line.join(a_claim(name, age=age))

    assert line.leave(("t", "b")) is None, "the first is still the first"
    assert line.leave(("t", "a")) == ("t", "c")
    assert line.leave(("t", "a")) is None
    assert line.leave(("t", "c")) is None
    assert len(line) == 0


def test_equal_ages_go_by_name() -> None:
    line = Line()
    line.join(a_claim("b", age=1))

    assert not line.is_behind(a_claim("a", age=1))
    assert line.is_behind(a_claim("c", age=1))


def test_a_claim_made_anew_under_its_name_starts_at_the_end() -> None:
    line = Line()
    for name, age in (("a", 9), ("b", 5)):
        line.join(a_claim(name, age=age))

    assert line.join(a_claim("a", age=1)) == ("t", "b"), "who is first now"

    assert line.waiting() == [("t", "b"), ("t", "a")]
    assert not line.is_behind(a_claim("b", age=5))


def test_a_claim_made_anew_for_another_class_leaves_the_line_of_the_first() -> None:
    line = Line()
    line.join(a_claim("a", age=9))

    line.join(a_claim("a", age=1, class_name="l40s"))

    assert not line.is_behind(a_claim("b", age=5))
    assert line.waiting() == [("t", "a")]


def test_nobody_is_behind_one_that_holds_nobody_up() -> None:
    line = Line()
    for name, age in (("a", 9), ("b", 5), ("c", 1)):
        line.join(a_claim(name, age=age))

    assert line.join(a_claim("a", age=9), holds_up=False) == ("t", "b")

    assert not line.is_behind(a_claim("b", age=5))
    assert line.is_behind(a_claim("c", age=1))
    assert line.waiting() == [("t", "a"), ("t", "b"), ("t", "c")], "it waits all the same"


def test_one_that_holds_others_up_again_has_its_old_place() -> None:
    line = Line()
    line.join(a_claim("a", age=9), holds_up=False)
    line.join(a_claim("b", age=5))

    assert line.join(a_claim("a", age=9)) is None

    assert line.is_behind(a_claim("b", age=5))
    assert line.leave(("t", "a")) == ("t", "b")
    assert line.leave(("t", "b")) is None
    assert len(line) == 0
