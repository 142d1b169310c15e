"""Releasing several holds at once: each is a release of its own, and each tells what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from claims.services import release
from gpu.sentences import sentence
from kube.errors import KubeError, Unavailable
from kube.gateway import Gateway
from portal.access import Access
from portal.errors import Problem, from_kube_error
from portal.pills import Pill

MOST: Final = 100
"""A page of the list."""

_GONE: Final = Pill("Released", "check", "ok")
_LEAVING: Final = Pill("Releasing", "rotate-ccw", "unknown")
_KEPT: Final = Pill("Not released", "x", "out")


@dataclass(frozen=True)
class Chosen:
    """A hold that a person ticked: its name, and the uid that tells it from a later one of the same name."""

    name: str
    uid: str

    @classmethod
    def read(cls, values: Iterable[str]) -> list[Chosen]:
        """Read what a form sent, each once. What is no choice is left out."""
        pairs = dict(value.split("/", 1) for value in values if value.count("/") == 1)
        return [cls(name, uid) for name, uid in list(pairs.items())[:MOST] if name and uid]


@dataclass(frozen=True)
class Outcome:
    """What became of one of them."""

    name: str
    pill: Pill
    words: str
    is_kept: bool = False


def release_chosen(
    *, access: Access, gateway: Gateway, namespace: str, chosen: Sequence[Chosen]
) -> list[Outcome]:
    """Release them one after the other and say what became of each. When the cluster does not answer, the rest is not tried."""
    outcomes: list[Outcome] = []
    for index, one in enumerate(chosen):
        try:
            left = release(access=access, gateway=gateway, namespace=namespace, name=one.name, uid=one.uid)
        except KubeError as error:
            outcomes.append(Outcome(one.name, _KEPT, _why(from_kube_error(error)), is_kept=True))
            if isinstance(error, Unavailable):
                rest = chosen[index + 1 :]
                words = "Not tried: the cluster does not answer."
                return outcomes + [Outcome(other.name, _KEPT, words, is_kept=True) for other in rest]
        else:
            waits = left.claim is not None
            words = "Free as soon as its VM has stopped." if waits else "Given back."
            outcomes.append(Outcome(one.name, _LEAVING if waits else _GONE, words))
    return outcomes


def _why(problem: Problem) -> str:
    if problem.refusals:
        return " ".join(sentence(refusal) for refusal in problem.refusals)
    return f"{problem.title}. {problem.detail}"
