"""What may happen to a ledger, for property tests to put into any order."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from gpu.corekinds import Taint
from gpu.fit import Order
from gpu.resources import OnCordon, Operator, Toleration
from tests.builders import (
    NOON,
    a_claim,
    a_class,
    a_launcher,
    a_namespace,
    a_node,
    a_pod,
    a_quota,
    refusal_of,
)

NODES = ["n1", "n2", "n3"]
RESOURCES = ["v.io/A", "v.io/B"]
CLASSES = ["ca", "cb", "cc", "cd"]
OFTEN_CLAIMED = [*3 * ["ca", "cb", "cc"], "cd"]  # where nobody has seen cd, claims of it close their nodes
NAMES = ["a", "b", "c", "d"]
TENANTS = ["tenant-root", "tenant-x", "tenant-x-y"]
TAINT = Taint(key="gpu", value="yes", effect="NoSchedule")

classes = st.builds(
    lambda name, resource, picky, tolerant, limit, cordon: a_class(
        name,
        resource=resource,
        selector={"pool": "p"} if picky else None,
        tolerations=[Toleration(key="gpu", operator=Operator.EXISTS)] if tolerant else None,
        max_count=limit,
        on_cordon=cordon,
    ),
    st.sampled_from(CLASSES),
    st.sampled_from(RESOURCES),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, None, 2]),
    st.sampled_from(OnCordon),
)
nodes = st.builds(
    lambda name, a, b, flags, pool: a_node(
        name,
        allocatable={r: n for r, n in zip(RESOURCES, (a, b), strict=True) if n is not None},
        capacity={r: 4 for r, n in zip(RESOURCES, (a, b), strict=True) if n is not None},
        ready=flags != 1,
        cordoned=flags == 2,
        taints=[TAINT] if flags == 3 else [],
        deleting=flags == 4,
        schedulable=flags != 5,
        labels={"pool": "p"} if pool else {},
    ),
    st.sampled_from(NODES),
    st.sampled_from([None, 0, 2, 4, "4", "-1", "x"]),
    st.sampled_from([None, 1, 4]),
    st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, 5]),
    st.booleans(),
)
pods = st.builds(
    lambda vm, claims, asks, node, tenant, phase, minute, launcher: (
        a_launcher if launcher else lambda vm, claims, **rest: a_pod(vm, **rest)
    )(
        vm,
        claims=claims,
        asks=asks,
        node=node,
        namespace=tenant,
        phase=phase,
        created_at=NOON + timedelta(minutes=minute),
    ),
    st.sampled_from(["vm1", "vm2"]),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    st.dictionaries(st.sampled_from([*RESOURCES, "cpu"]), st.integers(0, 3), max_size=3),
    st.sampled_from(["", *NODES]),
    st.sampled_from(TENANTS[1:]),
    st.sampled_from(["Running", "Pending", "Running", "Succeeded", "Failed"]),
    st.integers(0, 1),
    st.booleans(),
)
claims = st.builds(
    lambda name, gpus, of, tenant, set_name, node, uid, releasing, refused: a_claim(
        name,
        gpus=gpus,
        of=of,
        namespace=tenant,
        set_name=set_name,
        node=node,
        uid=uid and f"{tenant}-{name}-again",
        releasing=releasing,
        refused=[refusal_of("n1", until=NOON)] if refused else (),
    ),
    st.sampled_from(NAMES),
    st.integers(1, 3),
    st.sampled_from(OFTEN_CLAIMED),
    st.sampled_from(TENANTS[1:]),
    st.sampled_from([None, None, "s"]),
    st.sampled_from([None, None, *NODES, "gone"]),
    st.sampled_from([None, None, None, "again"]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([False, False, False, True]),
)
quotas = st.builds(
    lambda hard, name, tenant, scoped: a_quota(
        hard, name=name, namespace=tenant, scopes=["BestEffort"] if scoped else ()
    ),
    st.dictionaries(
        st.builds(
            lambda prefix, subject: f"{prefix}gpu.cozystack.io/{subject}",
            st.sampled_from(["", "requests.", "limits."]),
            st.sampled_from(["ca", "cb", "total", "total"]),
        ),
        st.integers(0, 6),
        max_size=3,
    ),
    st.sampled_from(["q1", "q2"]),
    st.sampled_from(TENANTS),
    st.sampled_from([False, False, False, True]),
)
namespaces = st.builds(
    lambda name, labelled: a_namespace(name, ancestors=TENANTS[: TENANTS.index(name)] if labelled else ()),
    st.sampled_from(TENANTS),
    st.booleans(),
)
orders = st.builds(
    Order,
    st.sampled_from(TENANTS[1:]),
    st.sampled_from(CLASSES),
    st.integers(1, 4),
    st.sampled_from([None, None, "s"]),
)
claim_keys = st.tuples(st.sampled_from(TENANTS[1:]), st.sampled_from(NAMES))
uids = st.sampled_from(["u1", "u2", "u3"])


def steps() -> st.SearchStrategy[tuple[Any, ...]]:
    def step(name: str, *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
        return st.tuples(st.just(name), *parts)

    return st.one_of(
        step("set_class", classes),
        step("set_node", nodes),
        step("set_node", nodes),
        step("set_pod", pods),
        step("set_claim", claims),
        step("set_claim", claims),
        step("set_quota", quotas),
        step("set_namespace", namespaces),
        step("remove_class", st.sampled_from(CLASSES)),
        step("remove_node", st.sampled_from(NODES)),
        step(
            "remove_pod", st.sampled_from(TENANTS[1:]), st.sampled_from(["virt-launcher-vm1", "vm1", "vm2"])
        ),
        step("remove_claim", claim_keys),
        step("remove_quota", st.sampled_from(TENANTS), st.sampled_from(["q1", "q2"])),
        step("remove_namespace", st.sampled_from(TENANTS)),
        step("reserve", uids, orders, st.integers(1, 9)),
        step("reserve", uids, orders, st.integers(1, 9)),
        step("arrive", uids, st.sampled_from(NAMES)),
        step("cancel", uids),
        step("expire", st.integers(1, 9)),
        step("plan", claim_keys, st.booleans()),
        step("plan", claim_keys, st.booleans()),
        step("plan_move", claim_keys),
        step("unplan", claim_keys),
        step("write_plan", claim_keys),
    )


FURNISHED: list[tuple[Any, ...]] = [
    ("set_class", a_class("ca", resource="v.io/A")),
    ("set_class", a_class("cb", resource="v.io/A", selector={"pool": "p"})),
    ("set_class", a_class("cc", resource="v.io/B")),
    *(
        ("set_node", a_node(name, allocatable={"v.io/A": 4, "v.io/B": 2}, labels={"pool": "p"}))
        for name in NODES
    ),
]
