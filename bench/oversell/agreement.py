"""Does everybody say the same once the load rests? What the controller publishes beside what its claims add up to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Final

from bench.oversell.calls import Pending
from bench.oversell.checker import Checker
from bench.oversell.facts import ClassFacts, subject_of
from bench.oversell.findings import Wrong
from bench.oversell.model import TOTAL, Model

_LOOK_SECONDS: Final = 0.05


def differences(checker: Checker) -> Iterator[tuple[Wrong, str]]:
    """Tell everything that does not agree now. While something is under way there may be much."""
    model = checker.model
    for key in checker.alive.keys() - model.claims.keys():
        yield Wrong.LOST, f"{key} was created and is not there"
    for key in checker.leaving & model.claims.keys():
        yield Wrong.LEAKED, f"{key} was deleted and is still there"
    yield from _waiting(model)
    yield from _apart(model)
    # What is published leaves room for whoever waits, and for orders that are admitted and not stored.
    ghosts = checker.refusals.ghosts(at=time.monotonic())
    waiting = {model.resource_of(model.claims[key].class_name) for key in model.unbound}
    for found in model.classes.values():
        if found.resource not in waiting:
            promised = sum(ghost.count for ghost in ghosts if ghost.resource == found.resource)
            yield from _published(checker, found, promised)
    yield from _published_use(checker, ghosts)


def _waiting(model: Model) -> Iterator[tuple[Wrong, str]]:
    """No order is admitted that has to wait, and nothing here takes a node away from a claim for good."""
    for key in model.unbound:
        claim = model.claims[key]
        found = model.classes.get(claim.class_name)
        nodes = {member.node for member in model.companions(claim) if member.node}
        serving = model.serving(found) if found is not None else []
        resource = model.resource_of(claim.class_name) or ""
        rooms = [model.room(node, resource) for node in serving if not nodes or {node} == nodes]
        words = f"{key} waits for {claim.count} of {claim.class_name}"
        if max(rooms, default=0) >= claim.count:
            yield Wrong.LOST, f"{words}, and they are there"
        else:
            yield Wrong.OVERSOLD, f"{words}, and they are not there"


def _apart(model: Model) -> Iterator[tuple[Wrong, str]]:
    for (namespace, set_name), members in model.sets():
        nodes = {member.node for member in members if member.node}
        if len(nodes) > 1:
            yield Wrong.LOST, f"the set {set_name} of {namespace} is apart: {sorted(nodes)}"


def _published(checker: Checker, found: ClassFacts, promised: int) -> Iterator[tuple[Wrong, str]]:
    free, most = checker.model.free(found)
    pairs = ((found.free, free), (found.max_free_per_node, most))
    if not all(told is not None and true - promised <= told <= true for told, true in pairs):
        yield (
            Wrong.LEAKED,
            f"{found.name} publishes {found.free} free, {found.max_free_per_node} on one node; "
            f"its nodes have {free}, {most} on one, {promised} of them promised",
        )


def _published_use(checker: Checker, ghosts: Sequence[Pending]) -> Iterator[tuple[Wrong, str]]:
    model = checker.model
    for quota in model.quotas.values():
        for key in quota.ours:
            subject, published = subject_of(key) or "", quota.used.get(key)
            pool = model.pool(quota.key[0], subject)
            if pool is None:
                continue
            used = model.used(pool)
            promised = sum(
                ghost.count
                for ghost in ghosts
                if ghost.namespace in pool.members and subject in (TOTAL, ghost.class_name)
            )
            if published is None or not used <= published <= used + promised:
                yield (
                    Wrong.LEAKED,
                    f"{quota.key} publishes {published} of {key} used, it is {used}, {promised} promised",
                )


async def until_agreed(checker: Checker, *, seconds: float) -> float | None:
    """Wait until nothing differs any more; give the seconds it took, or None when it did not come to that."""
    started_at = time.monotonic()
    while any(True for _ in differences(checker)):
        if time.monotonic() - started_at > seconds:
            return None
        await asyncio.sleep(_LOOK_SECONDS)
    return time.monotonic() - started_at


async def settle(checker: Checker, *, seconds: float) -> float | None:
    """Wait as :func:`until_agreed`; what still differs then is found wrong."""
    took = await until_agreed(checker, seconds=seconds)
    if took is None:
        for wrong, words in differences(checker):
            checker.findings.add(wrong, words)
    return took
