"""The small cluster most tests of the ledger start from."""

from __future__ import annotations

import pytest

from gpu.ledger import Ledger
from tests.builders import (
    a_class,
    a_node,
)


@pytest.fixture
def ledger() -> Ledger:
    """One offer on three nodes of 8, 4 and 2 units."""
    ledger = Ledger()
    ledger.set_class(a_class())
    for name, gpus in (("n8", 8), ("n4", 4), ("n2", 2)):
        ledger.set_node(a_node(name, gpus=gpus))
    ledger.take_changes()
    return ledger
