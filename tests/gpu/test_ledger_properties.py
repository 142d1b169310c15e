"""Whatever happens in whatever order, the ledger says what a computation from the state alone says, and sells nothing twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from gpu.cells import Cell
from gpu.ledger import Ledger
from tests.gpu.play import Play, fresh_ledger
from tests.gpu.steps import CLASSES, FURNISHED, NAMES, NODES, RESOURCES, TENANTS, steps

PLAYED = settings(
    deadline=None,
    phases=set(Phase) - {Phase.explain},  # it traces every line on this Python and takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _told(ledger: Ledger) -> dict[str, dict[Any, Any]]:
    """Give every answer under the kind and key by which a change of it has to be announced."""
    return {
        "classes": {
            name: (
                ledger.capacity(name),
                ledger.class_totals(name),
                ledger.overlaps(name),
                ledger.serving_nodes(name) or ledger.node_reasons(name),
            )
            for name in CLASSES
        },
        "claims": {
            (tenant, name): (
                ledger.attachment(tenant, name),
                ledger.health(tenant, name),
                ledger.claim_uid(tenant, name),
            )
            for tenant in TENANTS
            for name in NAMES
        },
        "cells": {(node, resource): ledger.cell(node, resource) for node in NODES for resource in RESOURCES},
        "quotas": {tenant: ledger.budgets.used(tenant) for tenant in TENANTS},
    }


def _answers(ledger: Ledger, sold: set[str]) -> dict[str, Any]:
    return {
        "cells": {key: cell for key, cell in ledger.cells().items() if key[1] in sold and cell != Cell()},
        "capacity": {name: ledger.capacity(name) for name in CLASSES},
        "totals": {name: ledger.class_totals(name) for name in CLASSES},
        "serving": {name: ledger.serving_nodes(name) for name in CLASSES},
        "reasons": {name: ledger.node_reasons(name) for name in CLASSES},
        "overlaps": {name: ledger.overlaps(name) for name in CLASSES},
        "claims": {name: ledger.claims_of(name) for name in CLASSES},
        "on": {name: ledger.claims_on(name) for name in NODES},
        "waiting": ledger.waiting_claims(),
        "budgets": {
            (tenant, name): ledger.budgets.for_order(tenant, name) for tenant in TENANTS for name in CLASSES
        },
        "used": {tenant: ledger.budgets.used(tenant) for tenant in TENANTS},
        "attached": {
            (tenant, name): (ledger.attachment(tenant, name), ledger.health(tenant, name))
            for tenant in TENANTS
            for name in NAMES
        },
    }


@settings(PLAYED, max_examples=50)
@given(st.lists(steps(), min_size=20, max_size=60))
def test_every_difference_is_announced(taken: list[tuple[Any, ...]]) -> None:
    play = Play()
    for step in FURNISHED:
        play.do(step)
    play.ledger.take_changes()
    before = _told(play.ledger)

    for step in taken:
        play.do(step)
        changes, after = play.ledger.take_changes(), _told(play.ledger)

        for kind, answers in after.items():
            different = {key for key, answer in answers.items() if answer != before[kind][key]}
            assert different <= getattr(changes, kind)
        placeable = {
            key
            for key, claim in play.world.claims.items()
            if play.world.waits(claim)
            and claim.spec.set_name is None
            and claim.spec.class_name in play.world.classes
            and play.could_place(claim)
        }
        assert placeable <= changes.claims | play.announced
        play.announced = (play.announced | changes.claims) & placeable
        before = after


@settings(PLAYED, max_examples=100)
@given(st.lists(steps(), min_size=20, max_size=60), st.lists(st.integers(0, 99), min_size=40, max_size=40))
def test_after_any_sequence_the_ledger_says_what_a_recomputation_says(
    taken: list[tuple[Any, ...]], shuffle: list[int]
) -> None:
    play = Play()
    for step in FURNISHED:
        play.do(step)

    for step in taken:
        play.do(step)
        play.compare()

    play.forget_promises()
    assert play.ledger.decisions() == {}
    sold = {gpu_class.resource_name for gpu_class in play.world.last_classes.values()}
    assert _answers(play.ledger, sold) == _answers(fresh_ledger(play.world, shuffle), sold)


@settings(PLAYED, max_examples=100)
@given(st.lists(steps(), min_size=20, max_size=60), st.lists(st.integers(0, 99), min_size=40, max_size=40))
def test_a_new_leader_says_what_it_can_know_and_never_finds_more_than_the_old_one(
    taken: list[tuple[Any, ...]], shuffle: list[int]
) -> None:
    old = Play()
    for step in (*FURNISHED, *taken):
        old.do(step)
    old.forget_promises()

    new = Play()
    new.world = replace(
        old.world, last_classes=dict(old.world.classes), orders={}, decisions={}, worked_out={}
    )
    new.ledger = fresh_ledger(new.world, shuffle)

    new.compare({gpu_class.resource_name for gpu_class in new.world.classes.values()})
    closed = [node for node in NODES if new.world.is_closed(node)]
    event(f"closed by the change of leader: {sum(not old.world.is_closed(node) for node in closed)}")
    for name, gpu_class in new.world.classes.items():
        assert (new.ledger.capacity(name).free or 0) <= (old.ledger.capacity(name).free or 0)
        for node in NODES:
            at = (node, gpu_class.resource_name)
            assert new.ledger.cell(*at).free <= old.ledger.cell(*at).free
