"""The verdict as lines of a panel: each check with its numbers, passed or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gpu.fit import Check, CheckName, Numbers, Reason, Verdict
from gpu.sentences import sentence
from portal.pills import Pill


class Outcome(StrEnum):
    PASSED = "passed"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class CheckLine:
    """One line. ``outcome`` is also its class."""

    title: str
    words: str
    outcome: Outcome
    icon: str


@dataclass(frozen=True)
class VerdictWords:
    pill: Pill
    lines: tuple[CheckLine, ...]
    ok: bool

    @property
    def say(self) -> str:
        """What a screen reader is told when the verdict changes."""
        told = [line.words for line in self.lines if line.outcome is not Outcome.PASSED]
        return " ".join([self.pill.word, *told])


_TITLES: Final = {
    CheckName.STOCK: "Stock",
    CheckName.ONE_NODE: "One node",
    CheckName.PER_VM: "Per VM",
    CheckName.CLASS_BUDGET: "Budget, this offer",
    CheckName.TOTAL_BUDGET: "Budget, all GPUs",
}
_ICONS: Final = {Outcome.PASSED: "check", Outcome.REFUSED: "x", Outcome.UNKNOWN: "circle-question-mark"}


def verdict_words(verdict: Verdict, *, namespace: str) -> VerdictWords:
    """Word every check of the verdict."""
    lines = tuple(_line(check, namespace) for check in verdict.checks)
    failed = sum(line.outcome is Outcome.REFUSED for line in lines)
    if verdict.ok:
        shown = Pill("Fits now", "check", "ok")
    elif failed:
        shown = Pill(f"Refused: {failed} of {len(lines)} checks", "x", "out")
    else:
        shown = Pill("Not known right now", "circle-question-mark", "unknown")
    return VerdictWords(shown, lines, verdict.ok)


def _line(check: Check, namespace: str) -> CheckLine:
    outcome = _outcome(check)
    if check.refusal is not None and (check.name is not CheckName.ONE_NODE or outcome is Outcome.REFUSED):
        words = sentence(check.refusal)
    else:
        words = _WORDS[check.name](check.numbers)
    words += _pool_words(check.numbers, namespace)
    return CheckLine(_TITLES[check.name], words, outcome, _ICONS[outcome])


def _outcome(check: Check) -> Outcome:
    if check.passed:
        return Outcome.PASSED
    if check.refusal is not None and check.refusal.reason is Reason.CAPACITY_UNKNOWN:
        return Outcome.UNKNOWN
    if check.refusal is None and "limit" not in check.numbers and "maxFreePerNode" not in check.numbers:
        return Outcome.UNKNOWN
    return Outcome.REFUSED


def _stock(numbers: Numbers) -> str:
    return f"{numbers.get('free', '?')} free"


def _one_node(numbers: Numbers) -> str:
    if "freeOnSetNode" in numbers:
        return f"{numbers['freeOnSetNode']} free on the node of the set"
    if "maxFreePerNode" not in numbers:
        return "Not known without the stock."
    return (
        f"up to {numbers['maxFreePerNode']} free on one node"
        if numbers["maxFreePerNode"]
        else "none free on any node"
    )


def _per_vm(numbers: Numbers) -> str:
    return f"at most {numbers['max']} of this offer" if "max" in numbers else "no limit for this offer"


def _budget(numbers: Numbers) -> str:
    if "limit" not in numbers:
        return "no limit set"
    after = int(numbers["used"]) + int(numbers["asked"])
    return f"{numbers['used']} of {numbers['limit']} used, {after} with this order"


def _pool_words(numbers: Mapping[str, int | str], namespace: str) -> str:
    owner = str(numbers.get("quota", "")).partition("/")[0]
    return f" · shared in {owner}" if owner and owner != namespace else ""


_WORDS: Final[dict[CheckName, Callable[[Numbers], str]]] = {
    CheckName.STOCK: _stock,
    CheckName.ONE_NODE: _one_node,
    CheckName.PER_VM: _per_vm,
    CheckName.CLASS_BUDGET: _budget,
    CheckName.TOTAL_BUDGET: _budget,
}
