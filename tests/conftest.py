"""What every test stands on."""

from __future__ import annotations

pytest_plugins = [
    "tests.fixtures.kubectl",
    "tests.fixtures.people",
    "tests.fixtures.postgres",
    "tests.fixtures.redis",
    "tests.fixtures.rest",
    "tests.fixtures.servers",
    "tests.fixtures.live",  # stands on rest
]
