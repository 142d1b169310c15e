"""The mirror process against a real API server: fast while all is well, right again after every fault."""

from __future__ import annotations

import signal
import time
from datetime import timedelta

import redis
from celery import Celery
from django.utils import timezone

from kube.kinds import GPU_CLAIMS, GPU_CLASSES, NAMESPACES, NODES
from portal import deaf_worker
from portal.models import RECORDS, ClaimRecord, ClassRecord, FeedState, NodeStock, Pulse
from portal.nudges import CHANNEL
from tests.builders import ACME, a_claim, a_class, a_namespace, a_node
from tests.portal.processes import Portal
from tests.waiting import until


def furnish(portal: Portal) -> None:
    portal.put(NAMESPACES, a_namespace())
    portal.put(NODES, a_node("n1", gpus=8))
    portal.put(GPU_CLASSES, a_class())


def all_live(portal: Portal) -> bool:
    return portal.rows(FeedState).exclude(live_since=None).count() == len(RECORDS)


def held(portal: Portal) -> int | None:
    row = portal.rows(NodeStock).filter(node="n1").first()
    return row.held if row else None


def test_what_changes_in_the_cluster_shows_in_the_rows_and_is_nudged(portal: Portal) -> None:
    furnish(portal)
    mirror = portal.mirror()
    until(lambda: all_live(portal), what="every kind is live")
    heard = redis.Redis.from_url(portal.redis.url).pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]  # redis-py
    heard.subscribe(CHANNEL)

    claim = portal.put(GPU_CLAIMS, a_claim("one", gpus=2, node="n1"))

    until(lambda: held(portal) == 2, what="the stock shows the hold")
    record = portal.rows(ClaimRecord).get()
    assert (record.uid, record.node_name, record.phase) == (claim.metadata.uid, "n1", "Held")
    missing = {f"gpuclaims {ACME}", "stock ", f"budgets {ACME}"}
    while missing:
        message = heard.get_message(timeout=10)
        if message is not None:
            missing.discard(message["data"].decode().rsplit(" ", 1)[0])
    heard.close()

    portal.gateway.delete(GPU_CLAIMS, "one", namespace=ACME)
    until(lambda: held(portal) == 0, what="the hold is gone from the stock")
    assert not portal.rows(ClaimRecord).exists()

    assert portal.rows(Pulse).get(process="mirror").at > timezone.now() - timedelta(seconds=30)
    mirror.send_signal(signal.SIGTERM)
    assert mirror.wait(timeout=10) == 0
    assert not all_live(portal), "a mirror that stopped vouches for nothing"


def test_a_killed_mirror_finds_out_what_it_missed(portal: Portal) -> None:
    furnish(portal)
    portal.put(GPU_CLAIMS, a_claim("goes", node="n1"))
    mirror = portal.mirror()
    until(lambda: held(portal) == 1, what="the hold is seen")

    mirror.kill()
    mirror.wait()
    portal.gateway.delete(GPU_CLAIMS, "goes", namespace=ACME)
    portal.put(GPU_CLAIMS, a_claim("comes", gpus=3, node="n1"))
    portal.mirror()

    until(lambda: held(portal) == 3, what="the stock is right again")
    assert [record.name for record in portal.rows(ClaimRecord).all()] == ["comes"]


def test_a_cluster_that_goes_away_is_not_live_and_comes_back_by_itself(portal: Portal) -> None:
    furnish(portal)
    portal.mirror()
    until(lambda: all_live(portal), what="every kind is live")

    portal.server.kill()
    until(lambda: portal.rows(FeedState).filter(live_since=None).exists(), what="the loss is noticed")
    portal.server.start()

    until(lambda: all_live(portal), what="every kind is live again", seconds=40)
    portal.put(GPU_CLAIMS, a_claim("one", node="n1"))
    until(lambda: held(portal) == 1, what="new holds are seen")


def test_without_redis_the_rows_are_right_all_the_same(portal: Portal) -> None:
    furnish(portal)
    portal.redis.kill()
    portal.mirror()

    until(lambda: all_live(portal), what="every kind is live")
    portal.put(GPU_CLAIMS, a_claim("one", node="n1"))
    until(lambda: held(portal) == 1, what="the hold is seen")


def test_with_the_mirror_dead_the_full_sync_repairs_rows_and_stock(portal: Portal) -> None:
    furnish(portal)
    mirror = portal.mirror()
    until(lambda: all_live(portal), what="every kind is live")
    mirror.kill()
    mirror.wait()
    portal.put(GPU_CLAIMS, a_claim("one", gpus=2, node="n1"))

    portal.environment = {"SYNC_SECONDS": "0.5", "PULSE_SECONDS": "1.5"}
    portal.worker()
    portal.beat()

    until(lambda: held(portal) == 2, what="the full sync repaired the stock", seconds=40)
    assert portal.rows(ClaimRecord).get().node_name == "n1"
    # Each kind's own sync says so; those before the mirror counted as dead did not.
    until(lambda: not portal.rows(FeedState).exclude(live_since=None).exists(), what="nothing is called live")
    assert portal.rows(Pulse).filter(process="worker").exists()


def test_a_worker_works_again_after_redis_was_restarted(portal: Portal) -> None:
    furnish(portal)
    portal.environment = {"SYNC_SECONDS": "0.5", "PULSE_SECONDS": "1.5"}
    worker = portal.worker()
    portal.beat()
    until(lambda: portal.rows(ClassRecord).exists(), what="the first sync is done", seconds=40)

    portal.redis.kill()
    portal.gateway.delete(GPU_CLASSES, "l40s")
    portal.redis.start()

    def is_synced() -> bool:
        nonlocal worker
        if (
            worker.poll() == deaf_worker.EXIT_CODE
        ):  # connected and deaf: it ends itself, and its keeper starts another
            worker = portal.worker()
        return not portal.rows(ClassRecord).exists()

    until(is_synced, what="tasks run again", seconds=60)


def test_a_worker_that_takes_nothing_ends_itself(portal: Portal) -> None:
    furnish(portal)
    portal.environment = {"SYNC_SECONDS": "0.5", "PULSE_SECONDS": "1.5"}
    worker = portal.worker()
    portal.beat()
    until(lambda: portal.rows(ClassRecord).exists(), what="the first sync is done", seconds=40)

    celery = Celery(broker=portal.redis.url)
    celery.control.cancel_consumer("gpu-portal")
    celery.close()

    assert worker.wait(timeout=40) == deaf_worker.EXIT_CODE
    assert "none is taken" in portal.log("worker")


def test_a_worker_stops_when_asked_while_redis_is_away(portal: Portal) -> None:
    """A worker that had something to say when Redis went must not wait for Redis with its last word."""
    portal.environment = {"PULSE_SECONDS": "1.5"}
    worker = portal.worker()
    portal.beat()
    until(lambda: portal.rows(Pulse).filter(process="worker").exists(), what="the worker works", seconds=40)

    portal.redis.freeze()
    time.sleep(3)
    portal.redis.kill()
    time.sleep(1)
    worker.send_signal(signal.SIGTERM)

    # Its exit code is kombu's: it may fail to give the tasks it had taken back to a Redis that is away.
    worker.wait(timeout=15)
