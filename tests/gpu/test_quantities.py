from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.quantities import format_memory, parse_bytes, parse_units
from gpu.resources import QUANTITY, matches


@pytest.mark.parametrize(
    ("written", "units"),
    [
        ("8", 8),
        ("0", 0),
        (3, 3),
        ("1k", 1000),
        ("1e1", 10),
        ("2000m", 2),
        ("1Ki", 1024),
        ("+4", 4),
        ("2.0", 2),
    ],
)
def test_whole_units_are_read_in_every_spelling(written: str | int, units: int) -> None:
    assert parse_units(written) == units


@pytest.mark.parametrize(
    "written",
    [
        "",
        "x",
        "-1",
        -1,
        "1.5",
        "1500m",
        "1e999999999",
        "1e308",
        2**63,
        "８",
        "1_000",
        " 8",
        "8\n",
        "NaN",
        "0x8",
        "1" * 100,
    ],
)
def test_what_is_no_whole_number_of_units_counts_nowhere(written: str | int) -> None:
    assert parse_units(written) is None


@pytest.mark.parametrize(
    ("written", "size"),
    [("1Ki", 1024), ("100m", Decimal("0.1")), ("1E", 10**18), (".5Gi", 2**29), ("12e6", 12_000_000), (5, 5)],
)
def test_bytes_are_exact(written: str | int, size: int | Decimal) -> None:
    assert parse_bytes(written) == size


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("48Gi", "48 GiB"),
        ("1.5Gi", "1.5 GiB"),
        ("46068Mi", "45.0 GiB"),
        ("129e6", "129 MB (0.12 GiB)"),
        ("1G", "1 GB (0.93 GiB)"),
        ("1Gi", "1 GiB"),
        ("2Pi", "2 PiB"),
        ("11973899059200m", "11.2 GiB"),
        (51539607552, "48 GiB"),
        ("14162554060800m", "13.2 GiB"),
        ("263412492Ki", "251.2 GiB"),
        ("262144Mi", "256 GiB"),
        ("1Ti", "1 TiB"),
        ("937500k", "894 MiB"),
        ("270000000000", "251.5 GiB"),
        ("0", "0 B"),
        ("48 furlongs", "48 furlongs ?"),
        ("-1Gi", "-1Gi ?"),
        (None, ""),
    ],
)
def test_memory_is_shown_as_people_read_it(written: str | int | None, shown: str) -> None:
    assert format_memory(written) == shown


@given(st.from_regex(QUANTITY, fullmatch=True) | st.text(max_size=20))
def test_nothing_that_anybody_writes_raises(written: str) -> None:
    units, size = parse_units(written), parse_bytes(written)

    assert units is None or units >= 0
    assert size is None or matches(QUANTITY, written)
    assert format_memory(written) or written == ""
