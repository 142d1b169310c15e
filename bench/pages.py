"""What a list costs at 100,000 mirrored claims: REST pages and HTML pages, beside the bare SQL and the joining of its bytes.

    python -m bench.pages [--claims 100000] [--tenants 200] [--requests 200]

Everything runs in one process without a network: whole requests through every middleware, session and access included. The floor
of a page is the same rows by sqlite3 itself on the same file, joined to one body; both take turns in one loop, and the ratio is
between their medians. "cpu" is the processor time of the page, which a busy machine does not lengthen as much. The mirror is filled through the product's own columns.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import msgspec

from gpu.resources import Condition, ConditionStatus
from kube.kinds import GPU_CLAIMS
from tests.builders import NOON, a_claim, a_class, a_namespace, a_node, a_quota

if TYPE_CHECKING:
    from django.test import Client

CLASSES = 8
ROWS = 100
_LAST = "SELECT namespace, name FROM portal_claimrecord WHERE {where} ORDER BY namespace DESC, name DESC LIMIT 101"
_FLOOR = (
    "SELECT namespace, name, body FROM portal_claimrecord WHERE {where} ORDER BY namespace, name LIMIT 101"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument("--claims", type=int, default=100_000)
    parser.add_argument("--tenants", type=int, default=200)
    parser.add_argument("--requests", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _start_django(Path(folder))
        _fill(claims=asked.claims, tenants=asked.tenants)
        _measure(Path(folder) / "portal.sqlite3", tenants=asked.tenants, requests=asked.requests)


def _start_django(folder: Path) -> None:
    os.environ.update(
        DATA=str(folder),
        DATABASE_URL=f"sqlite:///{folder / 'portal.sqlite3'}",
        DJANGO_SETTINGS_MODULE="portal.settings",
        ALLOWED_HOSTS="testserver",
        LOG_LEVEL="ERROR",
        DEMO="1",
    )
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def _fill(*, claims: int, tenants: int) -> None:
    from django.contrib.auth.models import Group
    from django.db import transaction
    from django.utils import timezone

    from portal.mirror import apply, feeds
    from portal.mirror.columns import columns_of
    from portal.models import RECORDS, ClaimRecord, User
    from tests.fixtures.rest import KINDS_BY_MODEL, raw_of

    others = (
        *(a_namespace(f"tenant-{number:04}") for number in range(tenants)),
        *(a_class(f"class-{number}", display_name=f"Class {number}") for number in range(CLASSES)),
        *(a_node(f"node-{number:03}") for number in range(100)),
        a_quota({"gpu.cozystack.io/total": 10_000}, namespace="tenant-0000"),
    )
    with transaction.atomic():
        for version, obj in enumerate(others, start=1):
            apply(KINDS_BY_MODEL[type(obj).__name__], raw_of(obj, version=version))
    healthy = Condition(
        type="Healthy",
        status=ConditionStatus.TRUE,
        reason="Healthy",
        message="Nothing is wrong",
        last_transition_time=NOON,
    )
    bound = msgspec.structs.replace(healthy, type="Bound", reason="Allocated", message="Held on its node")
    now = timezone.now()

    def records() -> Any:
        for number in range(claims):
            claim = a_claim(
                f"claim-{number:06}",
                of=f"class-{number % CLASSES}",
                namespace=f"tenant-{number % tenants:04}",
                node=f"node-{number % 100:03}",
                attached_to=f"vm-{number}" if number % 2 else None,
                conditions=[bound, healthy],
            )
            raw = raw_of(claim, version=1000 + number)
            columns = columns_of(GPU_CLAIMS, claim, raw, at=now)
            columns["resource_version"] = str(1000 + number)
            yield ClaimRecord(namespace=claim.metadata.namespace, name=claim.metadata.name, **columns)

    with transaction.atomic():
        ClaimRecord.objects.bulk_create(records(), batch_size=5000)
    feeds.synced(*RECORDS, at=now)
    for name, group in (("hoster", "cozystack-cluster-admin"), ("alice", "tenant-0000-use")):
        user = User.objects.create_user(name)
        user.groups.add(Group.objects.get_or_create(name=group)[0])


def _measure(database: Path, *, tenants: int, requests: int) -> None:
    hoster, alice = _signed_in("hoster"), _signed_in("alice")
    file = sqlite3.connect(database)
    last_tenant = f"tenant-{tenants - 1:04}"
    per_tenant = _one(file, "SELECT count(*) FROM portal_claimrecord WHERE namespace = 'tenant-0000'")
    first, last = _tokens(hoster, "/api/v1/claims/", file, f"namespace = '{last_tenant}'")
    own_first, own_last = _tokens(
        alice, "/api/v1/tenants/tenant-0000/claims/", file, "namespace = 'tenant-0000'"
    )
    everything, own = "1 = 1", "namespace = 'tenant-0000'"
    pages: tuple[tuple[str, Client, str, str], ...] = (
        ("REST all claims, first page", hoster, first, everything),
        ("REST all claims, last page", hoster, last, f"namespace = '{last_tenant}'"),
        ("REST one tenant, first page", alice, own_first, own),
        ("REST one tenant, last page", alice, own_last, own),
        ("REST one tenant by class", alice, f"{own_first}&className=class-0", own),
        ("HTML holds of one tenant", alice, "/tenants/tenant-0000/gpus/", own),
        ("HTML all holds", hoster, "/hoster/holds/", everything),
        ("HTML catalog", alice, "/", own),
    )
    everywhere = _one(file, "SELECT count(*) FROM portal_claimrecord")
    print(f"{everywhere} claims, {per_tenant} in one tenant; times in ms")
    print(f"{'':32}{'p50':>8}{'p99':>8}{'cpu':>8}{'floor':>8}{'ratio':>8}{'queries':>9}")
    for title, client, address, where in pages:
        ask = _asking(client, address)
        queries = _queries(ask)
        times, busy, floors = _in_turns(ask, _floor(file, where), requests)
        p50, p99 = _percentiles(times)
        cpu, _ = _percentiles(busy)
        floor, _ = _percentiles(floors)
        print(f"{title:32}{p50:8.2f}{p99:8.2f}{cpu:8.2f}{floor:8.2f}{p50 / floor:8.1f}{queries:9}")
    file.close()


def _signed_in(username: str) -> Client:
    from django.test import Client

    from portal.models import User

    client = Client()
    client.force_login(User.objects.get(username=username), "portal.login.LocalUserBackend")
    return client


def _asking(client: Client, address: str) -> Callable[[], None]:
    def ask() -> None:
        response = client.get(address)
        assert response.status_code == 200, (address, response.status_code)

    return ask


def _queries(ask: Callable[[], None]) -> int:
    from django.db import connection

    count = 0

    def counting(execute: Any, *call: Any) -> Any:
        nonlocal count
        count += 1
        return execute(*call)

    ask()  # what a process remembers is remembered now
    with connection.execute_wrapper(counting):
        ask()
    return count


def _floor(file: sqlite3.Connection, where: str) -> Callable[[], None]:
    """The least that any answer must do: read the rows and join their bytes."""
    query = _FLOOR.format(where=where)

    def read() -> None:
        b'{"items":[' + b",".join(row[2] for row in file.execute(query).fetchall()[:ROWS]) + b"]}"

    return read


def _in_turns(
    page: Callable[[], None], floor: Callable[[], None], times: int
) -> tuple[list[float], list[float], list[float]]:
    """Give the page's times, its processor times and the floor's times, in ms."""
    for _ in range(10):
        page()
        floor()
    taken: list[float] = []
    busy: list[float] = []
    floors: list[float] = []
    for _ in range(times):
        start, busy_start = perf_counter(), process_time()
        page()
        taken.append((perf_counter() - start) * 1000)
        busy.append((process_time() - busy_start) * 1000)
        start = perf_counter()
        floor()
        floors.append((perf_counter() - start) * 1000)
    return taken, busy, floors


def _tokens(client: Client, address: str, file: sqlite3.Connection, where: str) -> tuple[str, str]:
    """Give the address of the first page and of one that begins a page before the end."""
    from portal.api.paging import token_after

    rows = file.execute(_LAST.format(where=where)).fetchall()
    keys = rows[-1] if address == "/api/v1/claims/" else rows[-1][1:]
    return f"{address}?limit={ROWS}", f"{address}?limit={ROWS}&continue={token_after(keys)}"


def _percentiles(times: list[float]) -> tuple[float, float]:
    cuts = quantiles(times, n=100)
    return cuts[49], cuts[98]


def _one(file: sqlite3.Connection, query: str) -> int:
    count: int = file.execute(query).fetchone()[0]
    return count


if __name__ == "__main__":
    main()
