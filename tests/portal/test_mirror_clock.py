"""Web, mirror and worker on machines whose clocks differ: what is newer is told by the database's clock alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from kube.kinds import GPU_CLAIMS
from portal.mirror import clock, full_sync
from portal.mirror.batches import BatchWriter
from portal.models import ClaimRecord
from tests.builders import a_claim
from tests.fixtures.live import Live
from tests.portal.mirrored import all_listed, at_version, show

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

HOUR = timedelta(hours=1)


class Host:
    """The machine this process runs on, and how far its clock is ahead."""

    def __init__(self) -> None:
        self.ahead = timedelta()
        self._now = timezone.now

    def now(self) -> datetime:
        return self._now() + self.ahead


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host()
    monkeypatch.setattr(timezone, "now", host.now)
    return host


def test_a_worker_ahead_of_the_mirror_removes_nothing_that_its_list_is_too_old_to_know(
    live: Live, host: Host
) -> None:
    def order_meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if host.ahead and "portal_claimrecord" in sql:
            host.ahead = timedelta()
            show(at_version(a_claim("just-ordered"), 10**9))
        return execute(sql, params, many, context)

    host.ahead = HOUR
    with connection.execute_wrapper(order_meanwhile):
        replaced = full_sync.sync(GPU_CLAIMS)

    assert (host.ahead, replaced.removed) == (timedelta(), 0)
    assert ClaimRecord.objects.filter(name="just-ordered").exists()


def test_a_worker_behind_the_mirror_still_removes_what_is_gone(live: Live, host: Host) -> None:
    host.ahead = HOUR
    show(at_version(a_claim("gone"), 10**9))

    host.ahead = timedelta()
    full_sync.sync(GPU_CLAIMS)

    assert not ClaimRecord.objects.filter(name="gone").exists()


def test_a_web_process_behind_the_mirror_keeps_what_it_ordered_since_the_mirror_started(host: Host) -> None:
    writer = BatchWriter(started_at=clock.now())
    host.ahead = -HOUR
    show(at_version(a_claim("just-ordered"), 9))

    host.ahead = timedelta()
    writer.write(all_listed(), at=timezone.now())

    assert ClaimRecord.objects.filter(name="just-ordered").exists()
