"""Who may do what: every role x every verb x the three kinds, asked as the portal asks, with what deploy/rbac grants.

Each pair is tried twice: as a call (dry, where it would write) and as the API server's own answer to "may I?", which also knows the
verbs that the gateway does not have.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
import yaml

from kube import config
from kube.errors import Forbidden, Invalid, Unauthorized
from kube.gateway import Gateway
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, GPU_NODES, NAMESPACES, AnyKind, Kind, Opaque
from tests.controller.rights import PORTAL, granted, installed_server, tenant_bindings
from tests.kube.servers import RunningServer

RBAC: Final = "rbac.authorization.k8s.io"
ROLE_BINDINGS: Final = Kind(RBAC, "v1", "rolebindings", "RoleBinding", True, Opaque)
CLUSTER_ROLES: Final = Kind(RBAC, "v1", "clusterroles", "ClusterRole", False, Opaque)
MAY_I: Final = Kind(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, Opaque
)
PARENT, CHILD, OTHER = "tenant-acme", "tenant-acme-lab", "tenant-globex"
SETTLED_SECONDS: Final = 20.0

READ = frozenset({"get", "list", "watch"})
WRITE = frozenset({"create", "update", "patch", "delete", "deletecollection"})
STATUS = frozenset({"get status", "update status", "patch status"})
ALL = READ | WRITE | STATUS
ORDER = READ | {"create", "delete"}
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Person:
    """Somebody in a role. ``name`` and ``groups`` go into the Impersonate headers; no name: nobody is logged in."""

    role: str
    name: str
    groups: tuple[str, ...]
    namespace: str
    may: dict[str, frozenset[str]]


def may(
    claims: frozenset[str], *, classes: frozenset[str] = READ, nodes: frozenset[str] = NONE
) -> dict[str, frozenset[str]]:
    return {"gpuclaims": claims, "gpuclasses": classes, "gpunodes": nodes}


EVERYTHING = may(ALL, classes=ALL, nodes=ALL)
PEOPLE = [
    Person("hoster", "hoster", ("cozystack-cluster-admin",), PARENT, EVERYTHING),
    Person("viewer", "bob", ("tenant-acme-view",), PARENT, may(READ)),
    Person("user", "alice", ("tenant-acme-use",), PARENT, may(ORDER)),
    Person("admin", "admin-acme", ("tenant-acme-admin",), PARENT, may(ORDER)),
    Person("admin of the parent", "admin-acme", ("tenant-acme-admin",), CHILD, may(ORDER)),
    Person("viewer of the parent", "bob", ("tenant-acme-view",), CHILD, may(READ)),
    Person("user of another tenant", "charlie", ("tenant-globex-use",), PARENT, may(NONE)),
    Person("of two groups, the right one first", "alice", ("tenant-acme-use", "tenant-globex-use"), PARENT, may(ORDER)),
    Person("of two groups, the right one last", "alice", ("tenant-acme-view", "tenant-globex-use"), OTHER, may(ORDER)),
    Person("of two levels", "alice", ("tenant-acme-view", "tenant-acme-use"), PARENT, may(ORDER)),
    Person("of no group", "charlie", (), PARENT, may(NONE)),
    Person("anonymous", "", (), PARENT, may(NONE, classes=NONE)),
]  # fmt: skip
KINDS: list[AnyKind] = [GPU_CLAIMS, GPU_CLASSES, GPU_NODES]
SPECS: dict[str, dict[str, Any]] = {
    "gpuclaims": {"spec": {"className": "h100", "count": 1}},
    "gpuclasses": {
        "spec": {
            "vendor": "NVIDIA",
            "model": "H100",
            "mode": "passthrough",
            "source": {"devicePlugin": {"resourceName": "nvidia.com/H100"}},
        }
    },
    "gpunodes": {},
}


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """Three tenants with what Cozystack binds there, and in each of them, and beside them, one object called "there"."""
    is_real = request.config.getoption("--cluster") == "real"
    folder = tmp_path_factory.mktemp("matrix") / "server"
    with (
        installed_server(folder, is_real=is_real) as server,
        Gateway.connect(config.load(server.kubeconfig)) as admin,
    ):
        for namespace, *ancestors in ((PARENT,), (CHILD, PARENT), (OTHER,)):
            admin.create(NAMESPACES, {"metadata": {"name": namespace}})
            for body in tenant_bindings(namespace, *ancestors):
                admin.create(ROLE_BINDINGS, body, namespace=namespace)
            admin.create(GPU_CLAIMS, body_of(GPU_CLAIMS, "there"), namespace=namespace)
        for kind in KINDS[1:]:
            admin.create(kind, body_of(kind, "there"))
        yield server


@pytest.fixture(scope="module")
def portal(server: RunningServer) -> Iterator[Gateway]:
    """The portal's gateway, as its own service account."""
    with Gateway.connect(config.load(server.kubeconfig_of(PORTAL))) as gateway:
        _until(
            lambda: is_allowed(gateway.as_user("alice", ["tenant-acme-use"]), GPU_CLAIMS, "create", PARENT)
        )
        yield gateway


@pytest.fixture(scope="module")
def anonymous(server: RunningServer) -> Iterator[Gateway]:
    body = yaml.safe_load(server.kubeconfig.read_text())
    body["users"][0]["user"] = {}
    path = server.folder / "kubeconfig-nobody"
    path.write_text(yaml.safe_dump(body))
    with Gateway.connect(config.load(path)) as gateway:
        yield gateway


def body_of(kind: AnyKind, name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, **SPECS[kind.plural]}


def is_allowed(gateway: Gateway, kind: AnyKind, verb: str, namespace: str) -> bool:
    """Ask the API server whether one may."""
    verb, _, subresource = verb.partition(" ")
    attributes = {
        "verb": verb,
        "group": kind.group,
        "resource": kind.plural,
        "subresource": subresource,
        "namespace": namespace if kind.namespaced else "",
    }
    try:
        read = gateway.create(MAY_I, {"metadata": {}, "spec": {"resourceAttributes": attributes}})
    except (Forbidden, Unauthorized):
        return False
    return bool(json.loads(read.raw)["status"]["allowed"])


def calls(gateway: Gateway, kind: AnyKind, namespace: str) -> dict[str, Callable[[], object]]:
    """Give what the gateway can do, without doing it."""
    where = namespace if kind.namespaced else None
    status: dict[str, Any] = {"status": {}}
    label = {"metadata": {"labels": {"touched": "yes"}}}
    return {
        "get": lambda: gateway.get(kind, "there", namespace=where),
        "list": lambda: gateway.list(kind, namespace=where),
        "create": lambda: gateway.create(kind, body_of(kind, "new"), dry_run=True, namespace=where),
        "update": lambda: gateway.replace(kind, body_of(kind, "there"), dry_run=True, namespace=where),
        "patch": lambda: gateway.patch(kind, "there", label, dry_run=True, namespace=where),
        "delete": lambda: gateway.delete(kind, "there", dry_run=True, namespace=where),
        "patch status": lambda: gateway.patch(
            kind, "there", status, subresource="status", dry_run=True, namespace=where
        ),
    }


def is_let_through(call: Callable[[], object]) -> bool:
    try:
        call()
    except (Forbidden, Unauthorized):
        return False
    except Invalid:  # an update that names no version: it came as far as being looked at
        return True
    return True


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: person.role)
def test_every_role_may_do_this_and_nothing_else(
    person: Person, kind: AnyKind, portal: Gateway, anonymous: Gateway
) -> None:
    gateway = portal.as_user(person.name, person.groups) if person.name else anonymous
    wanted = person.may[kind.plural]

    done = {verb for verb, call in calls(gateway, kind, person.namespace).items() if is_let_through(call)}
    answered = {verb for verb in ALL if is_allowed(gateway, kind, verb, person.namespace)}

    assert done == wanted & calls(gateway, kind, person.namespace).keys()
    assert answered == wanted


def test_the_matrix_needs_every_right_of_the_tenants_roles() -> None:
    roles = granted("cozy:gpu:catalog", "cozy:gpu:view", "cozy:gpu:use")
    needed = {
        (GPU_CLAIMS.group, resource, verb)
        for person in PEOPLE
        if person.role != "hoster"
        for resource, verbs in person.may.items()
        for verb in verbs
    }
    # A tenant reads the budgets that limit an order with kubectl too; Cozystack's own view role gives the same.
    quotas = {("", "resourcequotas", verb) for verb in READ}

    assert roles == needed | quotas


def test_the_portal_itself_reads_and_does_nothing_more(portal: Gateway) -> None:
    for kind in KINDS:
        answered = {verb for verb in ALL if is_allowed(portal, kind, verb, PARENT)}
        everybody = {"get"} if kind is GPU_CLASSES else set()
        assert answered == {"list", "watch"} | everybody


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("mallory", ["tenant-acme-use"]),
        ("alice", ["system:masters"]),
        ("alice", ["tenant-acme-use", "system:masters"]),
        ("alice", ["tenant-acme-super-admin"]),
        ("system:admin", []),
        ("system:serviceaccount:gpu-portal-system:gpu-controller", []),
    ],
)
def test_nobody_is_impersonated_who_is_not_named(portal: Gateway, name: str, groups: list[str]) -> None:
    with pytest.raises(Forbidden):
        portal.as_user(name, groups).list(GPU_CLASSES)


@pytest.mark.parametrize("resource", ["users", "groups"])
def test_without_either_rule_of_impersonation_no_order_is_made_for_anybody(
    server: RunningServer, portal: Gateway, resource: str
) -> None:
    alice = portal.as_user("alice", ["tenant-acme-use"])
    with Gateway.connect(config.load(server.kubeconfig)) as admin:
        whole = json.loads(admin.get(CLUSTER_ROLES, "gpu-portal:impersonation").raw)["rules"]
        others = [rule for rule in whole if rule["resources"] != [resource]]
        assert len(others) == len(whole) - 1
        admin.patch(CLUSTER_ROLES, "gpu-portal:impersonation", {"rules": others})
        _until(lambda: not is_let_through(lambda: alice.list(GPU_CLAIMS, namespace=PARENT)))
        admin.patch(CLUSTER_ROLES, "gpu-portal:impersonation", {"rules": whole})
        _until(lambda: is_let_through(lambda: alice.list(GPU_CLAIMS, namespace=PARENT)))


def _until(holds: Callable[[], bool]) -> None:
    """A real API server takes roles up a moment after they were written."""
    deadline = time.monotonic() + SETTLED_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not so within {SETTLED_SECONDS:.0f} s"
        time.sleep(0.02)
