"""What needs a real API server is run by `make test-cluster` and skipped elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--cluster") == "real":
        return
    skip = pytest.mark.skip(reason="needs a real API server: make test-cluster")
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(skip)
