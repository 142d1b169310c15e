"""What every test stands on."""

from __future__ import annotations

import os

# Tests look at what is logged; nothing of it is formatted for people or machines.
os.environ.setdefault("CONFIGURES_LOGS", "0")

pytest_plugins = [
    "tests.fixtures.people",
    "tests.fixtures.postgres",
    "tests.fixtures.redis",
    "tests.fixtures.rest",
    "tests.fixtures.servers",
    "tests.fixtures.live",  # stands on rest
]
