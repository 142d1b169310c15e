from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest

from claims.models import EventKind, OrderEvent
from gpu.resources import Condition, ConditionStatus
from tests.builders import NOON, a_claim, a_class, a_quota
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import text_of, words

As = Callable[..., Rest]
HOLDS = "/tenants/tenant-acme/gpus/"


def a_condition(kind: str, status: str, reason: str, message: str = "") -> Condition:
    return Condition(
        type=kind, status=ConditionStatus(status), reason=reason, message=message, last_transition_time=NOON
    )


def row_of(html: str, name: str) -> str:
    return words(html.split(f'id="hold-tenant-acme-{name}"')[1].split("</tr>")[0].partition(">")[2])


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        (a_claim(node="n1", attached_to="vm-1"), "In use by VM vm-1"),
        (a_claim(node="n1"), "Held no VM has used it yet"),
        (
            a_claim(node="n1", conditions=[a_condition("Attached", "False", "VirtualMachineOff")]),
            "Held its VM is off, the GPU is still yours",
        ),
        (a_claim(), "Waiting being placed"),
        (a_claim(conditions=[a_condition("Bound", "False", "NodeGone")]), "Waiting its node is gone"),
        (a_claim(node="n1", attached_to="vm-1", releasing=True), "Releasing free when VM vm-1 has stopped"),
        (
            a_claim(node="n1", conditions=[a_condition("Healthy", "False", "NodeCordoned")]),
            "its node takes no new work",
        ),
    ],
)
def test_each_phase_says_what_it_means(rest: As, mirrored: Mirrored, claim: object, shown: str) -> None:
    mirrored(a_class(), claim)

    assert shown in row_of(rest("alice").client.get(HOLDS).content.decode(), "one")


@pytest.mark.parametrize("path", [HOLDS, f"{HOLDS}one/", "/tenants/tenant-acme/history/"])
def test_a_tenant_never_reads_the_name_of_a_node(rest: As, mirrored: Mirrored, path: str) -> None:
    broken = a_condition("Healthy", "False", "NodeCordoned", "secret-node is cordoned")
    mirrored(a_class(), a_claim(node="secret-node", conditions=[broken]))
    OrderEvent.objects.create(
        at=NOON,
        kind=EventKind.BOUND,
        namespace="tenant-acme",
        claim_name="one",
        claim_uid="claim-tenant-acme-one",
        class_name="l40s",
        count=1,
        node_name="secret-node",
    )

    assert "secret-node" not in rest("alice").client.get(path).content.decode()
    assert "secret-node" in rest("hoster").client.get(f"{HOLDS}one/").content.decode()


@pytest.mark.parametrize(
    "path",
    [
        HOLDS,
        f"{HOLDS}one/",
        f"{HOLDS}one/release/",
        "/tenants/tenant-acme/budget/",
        "/tenants/tenant-acme/history/",
    ],
)
def test_a_strangers_address_is_not_found(rest: As, mirrored: Mirrored, path: str) -> None:
    mirrored(a_class(), a_claim(node="n1"))

    for who in ("charlie", "stranger"):
        assert rest(who).client.get(path).status_code == 404
        assert rest(who).client.get(path, headers={"HX-Request": "true"}).status_code == 404


def test_a_viewer_looks_and_cannot_release(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class(), a_claim(node="n1"))
    bob = rest("bob").client

    html = bob.get(HOLDS).content.decode()

    assert "You may look, not release" in html
    assert "/release/" not in html
    assert bob.get(f"{HOLDS}one/release/").status_code == 403
    assert bob.post(f"{HOLDS}one/release/").status_code == 403


def test_the_list_is_narrowed_and_sorted_by_its_address(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class(), a_claim("a", gpus=1), a_claim("b", gpus=3, node="n1"), a_claim("c", gpus=2))
    client = rest("alice").client

    def shown(query: str) -> list[str]:
        return re.findall(r'id="hold-tenant-acme-(\w+)"', client.get(f"{HOLDS}?{query}").content.decode())

    assert shown("") == ["a", "b", "c"]
    assert shown("sort=-count") == ["b", "c", "a"]
    assert shown("phase=Waiting") == ["a", "c"]
    assert shown("q=b") == ["b"]
    assert shown("sort=body&after=!!!") == ["a", "b", "c"]
    assert "aria-sort" in client.get(f"{HOLDS}?sort=count").content.decode()


def test_an_empty_list_says_what_to_do_next(rest: As, mirrored: Mirrored) -> None:
    assert "Nothing held yet" in text_of(rest("alice").client, HOLDS)


def test_a_hold_shows_its_annotation_with_the_whole_set(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        a_class(), a_claim("left", set_name="sim", node="n1"), a_claim("right", set_name="sim", node="n1")
    )

    assert 'gpu.cozystack.io/claims: "left,right"' in text_of(rest("alice").client, f"{HOLDS}left/")


def test_history_tells_refusals_with_their_numbers(rest: As, mirrored: Mirrored) -> None:
    OrderEvent.objects.create(
        at=NOON,
        kind=EventKind.REFUSED,
        namespace="tenant-acme",
        claim_name="big",
        class_name="l40s",
        count=6,
        username="alice",
        data={
            "refusals": [{"reason": "NoNodeFits", "numbers": {"asked": 6, "free": 8, "maxFreePerNode": 4}}]
        },
    )

    text = text_of(rest("bob").client, "/tenants/tenant-acme/history/")

    assert "You ask for 6. 8 are free, but no single node has more than 4." in text


@pytest.mark.parametrize(
    ("hard", "said"),
    [
        ({}, "2 used · no limit set"),
        ({"gpu.cozystack.io/l40s": "0"}, "0 allowed · 2 used"),
        ({"gpu.cozystack.io/l40s": "8"}, "2 of 8 used · 6 left"),
        ({"gpu.cozystack.io/l40s": "1"}, "2 of 1 used · 1 above the limit"),
    ],
)
def test_no_limit_nothing_allowed_and_a_limit_are_different_words(
    rest: As, mirrored: Mirrored, hard: dict[str, str], said: str
) -> None:
    mirrored(a_class(), a_claim(gpus=2, node="n1"), a_quota(hard))

    assert said in text_of(rest("bob").client, "/tenants/tenant-acme/budget/")


def test_the_hoster_sees_holds_of_all_tenants_with_their_nodes(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class(), a_claim("a", node="n1"), a_claim("b", namespace="tenant-globex", node="n2"))

    text = text_of(rest("hoster").client, "/hoster/holds/")

    assert "tenant-acme a" in text
    assert "tenant-globex b" in text
    assert "n2" in text
    assert "tenant-globex" not in text_of(rest("hoster").client, "/hoster/holds/?q=n1").split("Since")[1]
    assert rest("alice").client.get("/hoster/holds/").status_code == 404


@pytest.mark.parametrize(("happened", "is_cut"), [(200, False), (201, True)])
def test_a_long_timeline_shows_the_newest_and_leads_to_the_rest(
    rest: As, mirrored: Mirrored, happened: int, is_cut: bool
) -> None:
    claim = a_claim("train", node="n1")
    mirrored(a_class(), claim)
    OrderEvent.objects.all().delete()
    OrderEvent.objects.bulk_create(
        OrderEvent(
            at=NOON + timedelta(minutes=number),
            kind=EventKind.ATTACHED,
            namespace="tenant-acme",
            claim_name="train",
            claim_uid=claim.metadata.uid,
            mark=str(number),
            class_name="l40s",
            count=1,
            data={"vm": f"vm-{number:03}"},
        )
        for number in range(1, happened + 1)
    )

    html = rest("bob").client.get(f"{HOLDS}train/").content.decode()

    shown = re.findall(r"VM (vm-\d{3})\.", html.split('class="timeline"')[1])
    assert shown == [f"vm-{number:03}" for number in range(happened - 199, happened + 1)]
    assert ("Only the last 200" in words(html)) is is_cut
    assert ('href="/tenants/tenant-acme/history/?q=train"' in html) is is_cut
