"""Every mutant still applies; `make mutants` then says which test catches it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.mutants.catalog import MUTANTS
from tests.system.mutants.mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_the_mutant_changes_one_place_and_is_still_python(mutant: Mutant) -> None:
    changed = mutant.apply(ROOT)

    assert changed != (ROOT / mutant.path).read_text()
    compile(changed, mutant.path, "exec")
    assert all((ROOT / part).exists() for part in mutant.suite)


def test_there_are_enough_of_them_and_no_two_are_the_same() -> None:
    assert (
        len({(mutant.path, mutant.old, mutant.new, mutant.suite) for mutant in MUTANTS}) == len(MUTANTS) >= 20
    )
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
