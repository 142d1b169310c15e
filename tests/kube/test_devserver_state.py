"""What the dev server keeps over a stop, a kill and a restart, and what it forgets."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path

import psutil
import pytest
import urllib3

from kube.devserver import crds
from kube.devserver.bootstrap import read_crds
from kube.devserver.metadata import now
from kube.devserver.store import Store
from kube.kinds import CRDS, GPU_CLAIMS, NAMESPACES
from tests.kube.orders import a_claim
from tests.kube.servers import CRDS as CRDS_FOLDER
from tests.kube.servers import RunningServer, start_dev_server
from tests.kube.wire import Wire

ALLOWED_START_SECONDS = 0.5


def mark_as_going(server: RunningServer, collection: str, *names: str) -> None:
    """Leave in the state of a server that does not run what a kill leaves in the middle of deletes."""
    store = Store(server.folder / "state.sqlite3", history_length=10)
    for name in names:
        record = store.get(collection, ("", name))
        assert record is not None
        content = record.object
        content["metadata"]["deletionTimestamp"] = now()
        store.put(collection, record.key, content)
    store.close()


def test_what_was_answered_survives_a_kill(own_dev_server: RunningServer) -> None:
    wire = Wire.connect(own_dev_server.kubeconfig)
    created = wire.create(GPU_CLAIMS, a_claim("one"), namespace="default")
    wire.create(GPU_CLAIMS, a_claim("two"), namespace="default")
    wire.delete(GPU_CLAIMS, "two", namespace="default")
    before = wire.page(GPU_CLAIMS).json

    own_dev_server.kill()
    own_dev_server.start()

    after = wire.page(GPU_CLAIMS).json
    assert after["items"] == before["items"] == [created.json]
    assert int(after["metadata"]["resourceVersion"]) >= int(before["metadata"]["resourceVersion"])


def test_no_answered_write_is_lost_when_it_is_killed_under_load(own_dev_server: RunningServer) -> None:
    answered: list[set[str]] = [set() for _ in range(4)]
    busy = threading.Barrier(5)

    def write(number: int) -> None:
        wire = Wire.connect(own_dev_server.kubeconfig)
        busy.wait()
        for count in itertools.count():
            name = f"c-{number}-{count}"
            try:
                code = wire.create(GPU_CLAIMS, a_claim(name), namespace="default").code
            except urllib3.exceptions.HTTPError:
                return  # killed before the answer: the write may or may not be there
            assert code == 201
            answered[number].add(name)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    busy.wait()
    while min(map(len, answered)) < 20:
        assert any(writer.is_alive() for writer in writers)
    own_dev_server.kill()
    for writer in writers:
        writer.join()
    own_dev_server.start()

    stored = set(Wire.connect(own_dev_server.kubeconfig).names(GPU_CLAIMS))
    told = set().union(*answered)
    assert told <= stored
    assert len(stored) <= len(told) + 4


def test_what_was_going_when_it_was_killed_goes_on_going(own_dev_server: RunningServer) -> None:
    wire = Wire.connect(own_dev_server.kubeconfig)
    for name in ("half", "empty", "held"):
        wire.create(NAMESPACES, {"metadata": {"name": name}})
    held = {"metadata": {"name": "one", "finalizers": ["example.com/hold"]}, "spec": {"className": "l40s"}}
    wire.create(GPU_CLAIMS, a_claim("one"), namespace="half")
    wire.create(GPU_CLAIMS, held, namespace="held")
    own_dev_server.kill()
    mark_as_going(own_dev_server, "/namespaces", "half", "empty", "held")

    own_dev_server.start()

    assert wire.names(GPU_CLAIMS) == ["one"]
    assert {"half", "empty"}.isdisjoint(wire.names(NAMESPACES))
    wire.patch(GPU_CLAIMS, "one", {"metadata": {"finalizers": []}}, namespace="held")
    assert wire.get(NAMESPACES, "held").code == 404


def test_a_kind_that_was_going_when_it_was_killed_goes_on_going(tmp_path: Path) -> None:
    # A server that is given no CRDs at its start: it would install them anew.
    with start_dev_server(tmp_path, crds=None) as server:
        wire = Wire.connect(server.kubeconfig)
        (crd,) = (crd for crd in read_crds(CRDS_FOLDER) if crd["spec"]["names"]["kind"] == "GPUClaim")
        wire.create(CRDS, crd)
        wire.create(GPU_CLAIMS, a_claim("one"), namespace="default")
        server.kill()
        mark_as_going(server, crds.COLLECTION, crd["metadata"]["name"])

        server.start()

        assert wire.names(CRDS) == []
        wire.create(CRDS, crd)
        assert wire.names(GPU_CLAIMS) == []


def test_resource_versions_and_credentials_go_on_after_a_restart(own_dev_server: RunningServer) -> None:
    wire = Wire.connect(own_dev_server.kubeconfig)
    first = wire.create(GPU_CLAIMS, a_claim("one"), namespace="default").json

    own_dev_server.restart()

    second = wire.create(GPU_CLAIMS, a_claim("two"), namespace="default").json
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


def test_a_watch_from_before_a_restart_has_to_list_again(own_dev_server: RunningServer) -> None:
    wire = Wire.connect(own_dev_server.kubeconfig)
    version = wire.page(GPU_CLAIMS).json["metadata"]["resourceVersion"]
    wire.create(GPU_CLAIMS, a_claim("one"), namespace="default")

    own_dev_server.restart()

    with wire.watch(GPU_CLAIMS.path(), resourceVersion=version) as events:
        assert events.next()["object"]["code"] == 410


def test_a_stop_ends_open_watches_and_does_not_wait_for_them(own_dev_server: RunningServer) -> None:
    wire = Wire.connect(own_dev_server.kubeconfig)

    with wire.watch(NAMESPACES.path()) as events:
        events.next()
        began = time.monotonic()
        own_dev_server.stop()
        took = time.monotonic() - began
        rest = list(events)

    assert all(event["type"] == "ADDED" for event in rest)
    assert took < 2


def test_what_is_compacted_is_gone_for_watches_and_for_pages(tmp_path: Path) -> None:
    with start_dev_server(tmp_path, compaction=4) as server:
        wire = Wire.connect(server.kubeconfig)
        for name in ("a", "b", "c"):
            wire.create(GPU_CLAIMS, a_claim(name), namespace="default")
        first = wire.page(GPU_CLAIMS, limit="2").json["metadata"]
        for number in range(10):
            labels = {"labels": {"n": str(number)}}
            wire.patch(GPU_CLAIMS, "a", {"metadata": labels}, namespace="default")

        page = wire.page(GPU_CLAIMS, limit="2", **{"continue": first["continue"]})
        with wire.watch(GPU_CLAIMS.path(), resourceVersion=first["resourceVersion"]) as events:
            event = events.next()

    assert (page.code, page.json["reason"]) == (410, "Expired")
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_it_starts_with_less_than_half_a_second_of_work(own_dev_server: RunningServer) -> None:
    own_dev_server.restart()

    assert own_dev_server.process is not None
    # Processor time, not time of day: other processes of a test run must not count.
    spent = psutil.Process(own_dev_server.process.pid).cpu_times()
    assert spent.user + spent.system < ALLOWED_START_SECONDS


def test_a_busy_port_is_a_clear_error(own_dev_server: RunningServer, tmp_path: Path) -> None:
    port = own_dev_server.url.rpartition(":")[2]
    second = RunningServer(tmp_path / "second", (), url=own_dev_server.url)
    second.folder.mkdir()

    with pytest.raises(AssertionError, match=f"port {port} cannot be used"):
        second.start()


def test_two_servers_do_not_share_a_folder(own_dev_server: RunningServer) -> None:
    second = RunningServer(own_dev_server.folder, ())

    with pytest.raises(AssertionError, match="another server uses"):
        second.start()

    assert Wire.connect(own_dev_server.kubeconfig).page(NAMESPACES).code == 200


def test_services_get_tokens_of_their_own(tmp_path: Path) -> None:
    users = ["portal:gpu-portal", "system:serviceaccount:gpu-system:controller:extra"]
    with start_dev_server(tmp_path, users=users) as server:
        portal = Wire.connect(server.kubeconfig_of("portal"))
        controller = Wire.connect(server.kubeconfig_of("system:serviceaccount:gpu-system:controller"))

        told = [wire.page(GPU_CLAIMS).json["message"] for wire in (portal, controller)]

    assert 'User "portal" cannot list' in told[0]
    assert 'User "system:serviceaccount:gpu-system:controller" cannot list' in told[1]


def test_impersonation_is_limited_to_the_names_of_the_role(tmp_path: Path) -> None:
    with start_dev_server(tmp_path, users=["portal"]) as server:
        admin, portal = Wire.connect(server.kubeconfig), Wire.connect(server.kubeconfig_of("portal"))
        rules = [
            {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]},
            {
                "apiGroups": [""],
                "resources": ["groups"],
                "verbs": ["impersonate"],
                "resourceNames": ["tenant-use"],
            },
        ]
        role = {"metadata": {"name": "portal"}, "rules": rules}
        api = "/apis/rbac.authorization.k8s.io/v1"
        admin.send("POST", f"{api}/clusterroles", role)
        admin.send(
            "POST",
            f"{api}/clusterrolebindings",
            {
                "metadata": {"name": "portal"},
                "roleRef": {"kind": "ClusterRole", "name": "portal"},
                "subjects": [{"kind": "User", "name": "portal"}],
            },
        )

        allowed = portal.as_user("alice", ["tenant-use"]).page(GPU_CLAIMS)
        refused = portal.as_user("alice", ["tenant-use", "system:masters"]).page(GPU_CLAIMS)

    assert 'User "alice" cannot list' in allowed.json["message"]
    assert refused.json["message"] == (
        'groups "system:masters" is forbidden: User "portal" cannot impersonate resource "groups" '
        'in API group "" at the cluster scope'
    )
