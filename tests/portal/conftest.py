"""What the portal's tests stand on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tests.portal.processes import Portal, running_portal


@pytest.fixture
def portal(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Portal]:
    """A cluster, a Redis and a database of the test's own; it starts the processes it wants to see."""
    uses_postgres = request.config.getoption("--postgres")
    url = request.getfixturevalue("postgres_url") if uses_postgres else None
    folder = tmp_path_factory.mktemp("processes")
    with django_db_blocker.unblock(), running_portal(folder, postgres_url=url) as running:
        yield running
