"""What the portal's tests stand on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.portal.processes import Portal, copied_database, prepare_database, running_portal


@pytest.fixture(scope="session")
def prepared_database(tmp_path_factory: pytest.TempPathFactory, postgres_url: str | None) -> Path:
    folder = tmp_path_factory.mktemp("template")
    prepare_database(folder, postgres_url)
    return folder


@pytest.fixture
def portal(
    tmp_path_factory: pytest.TempPathFactory,
    prepared_database: Path,
    postgres_url: str | None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Portal]:
    """A cluster, a Redis and a database of the test's own; it starts the processes it wants to see."""
    folder = tmp_path_factory.mktemp("processes")
    url = copied_database(prepared_database, folder, postgres_url)
    with django_db_blocker.unblock(), running_portal(folder, database_url=url) as running:
        yield running
