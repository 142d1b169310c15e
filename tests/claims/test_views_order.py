from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
import yaml

from claims.models import EventKind, OrderEvent
from portal.models import ClaimRecord
from tests.builders import a_claim, a_class, a_node, a_quota
from tests.fixtures.live import Live
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import offer, text_of, words

As = Callable[..., Rest]
ORDER = "/tenants/tenant-acme/order/"
HOLDS = "/tenants/tenant-acme/gpus/"
KEY = "0123456789abcdef0123456789abcdef"


def order(**changed: str) -> dict[str, str]:
    return {"class_name": "l40s", "count": "2", "name": "train", "order_key": KEY, **changed}


def value_of(html: str, name: str) -> str:
    found = re.search(
        rf'<input[^>]*name="{name}"[^>]*value="([^"]*)"|<input[^>]*value="([^"]*)"[^>]*name="{name}"', html
    )
    assert found, name
    return unescape(found[1] or found[2] or "")


def test_the_form_opens_filled_in(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("h100", free=0), offer("l40s", free=8, most=4))

    html = rest("alice").client.get(f"{ORDER}?class=l40s&count=3").content.decode()

    assert value_of(html, "count") == "3"
    assert re.fullmatch(r"l40s-[0-9a-f]{4}", value_of(html, "name"))
    assert re.fullmatch(r"[0-9a-f]{32}", value_of(html, "order_key"))
    assert "Fits now" in words(html)


def test_the_form_opens_with_an_offer_that_has_room(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("a", free=0), offer("b", free=8))

    html = rest("alice").client.get(ORDER).content.decode()

    assert '<option value="b" selected' in html


@pytest.mark.parametrize(("who", "status"), [("bob", 403), ("charlie", 404), ("stranger", 404)])
@pytest.mark.parametrize("path", [ORDER, f"{ORDER}verdict/"])
def test_only_who_may_order_reaches_the_form(
    rest: As, mirrored: Mirrored, who: str, status: int, path: str
) -> None:
    assert rest(who).client.get(path).status_code == status
    assert rest(who).client.get(path, headers={"HX-Request": "true"}).status_code == status


def test_nobody_is_sent_to_sign_in(rest: As, mirrored: Mirrored) -> None:
    assert rest(None).client.get(ORDER)["Location"] == f"/login/?next={ORDER}"


def test_the_verdict_names_every_check_and_what_would_fit(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        offer("l40s", free=8, most=4),
        offer("h100", free=8, most=8, model="H100"),
        a_quota({"gpu.cozystack.io/total": "7"}),
        a_claim("held", gpus=1, node="n1"),
    )

    text = text_of(rest("alice").client, f"{ORDER}verdict/?class_name=l40s&count=6&order_key={KEY}")

    assert "Refused: 1 of 5 checks" in text
    assert "You ask for 6. 8 are free, but no single node has more than 4." in text
    assert "1 of 7 used, 7 with this order" in text
    assert "4 × l40s" in text
    assert "6 × h100" in text


def test_the_verdict_of_an_order_that_is_not_one_says_what_is_wrong(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8))

    assert "Write a whole number" in text_of(
        rest("alice").client, f"{ORDER}verdict/?class_name=l40s&count=two"
    )


@pytest.mark.parametrize(
    ("query", "words_of_fault"),
    [("class=$(id)", "There is no such offer."), ("class=l40s&set=$(id)", "There is no such set.")],
)
def test_an_address_that_names_what_cannot_be_says_so_at_the_field_and_shows_no_code(
    rest: As, mirrored: Mirrored, query: str, words_of_fault: str
) -> None:
    mirrored(offer("l40s", free=8))

    html = rest("alice").client.get(f"{ORDER}?{query}").content.decode()

    field = "set_name" if "set=" in query else "class_name"
    assert words_of_fault in words(html.split(f'id="{field}-fault"')[1].split("</p>")[0])
    assert 'id="code-kubectl"' not in html


def test_the_order_as_code_is_the_order(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8))

    html = rest("alice").client.get(f"{ORDER}verdict/", order(new_set="sim")).content.decode()
    code = unescape(re.findall(r'id="code-kubectl"[^>]*>(.*?)</pre>', html, re.DOTALL)[0])

    manifest = yaml.safe_load(code.split("<<'EOF'\n")[1].removesuffix("EOF"))
    assert manifest["metadata"] == {"name": "train", "namespace": "tenant-acme"}
    assert manifest["spec"] == {"className": "l40s", "count": 2, "setName": "sim"}


def test_a_name_nobody_typed_follows_the_chosen_offer(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=8), offer("h100", free=8))
    sent = order(class_name="h100", name="l40s-0123", suggested="l40s-0123")

    html = rest("alice").client.get(f"{ORDER}verdict/", sent).content.decode()

    assert 'id="id_name" name="name" value="h100-0123"' in " ".join(html.split())


def test_an_order_becomes_a_hold_and_history(rest: As, governed: Live) -> None:
    governed.put(a_class(display_name="L40S 48"), a_node(gpus=8))
    governed.sync()
    client = rest("alice").client

    response = client.post(ORDER, order())

    assert response["Location"] == HOLDS
    assert "Ordered 2 × L40S 48 as train." in text_of(client, HOLDS)
    assert [(claim.metadata.name, claim.spec.count) for claim in governed.claims()] == [("train", 2)]
    assert OrderEvent.objects.filter(kind=EventKind.ORDERED, username="alice").count() == 1


def test_the_same_form_sent_twice_makes_one_hold(rest: As, live: Live) -> None:
    live.put(a_class())
    live.sync()
    client = rest("alice").client

    answers = [client.post(ORDER, order()) for _ in range(3)]

    assert [answer["Location"] for answer in answers] == [HOLDS] * 3
    assert len(live.claims()) == 1


def test_a_taken_name_is_said_at_the_name(rest: As, live: Live) -> None:
    live.put(a_class())
    live.sync()
    client = rest("alice").client
    client.post(ORDER, order())

    response = client.post(ORDER, order(order_key="f" * 32, count="1"))

    html = response.content.decode()
    assert response.status_code == 409
    assert 'id="name-fault"' in html
    assert value_of(html, "count") == "1"


def test_a_refused_order_shows_every_reason_and_keeps_what_was_typed(rest: As, governed: Live) -> None:
    governed.put(
        a_class(), a_node("n1", gpus=4), a_node("n2", gpus=4), a_quota({"gpu.cozystack.io/l40s": "5"})
    )
    governed.sync()
    client = rest("alice").client

    response = client.post(ORDER, order(count="6"))

    html = response.content.decode()
    alert = words(html.split('role="alert"')[2 if 'id="trouble"' in html else 1].split("</div></div>")[0])
    assert response.status_code == 409
    assert "8 are free, but no single node has more than 4" in alert
    assert "The budget allows 5" in alert
    assert (value_of(html, "count"), value_of(html, "name")) == ("6", "train")
    assert governed.claims() == []
    assert OrderEvent.objects.filter(kind=EventKind.REFUSED).count() == 1


@pytest.mark.parametrize(
    "changed", [{"count": "0"}, {"count": "two"}, {"name": "Capital"}, {"new_set": "A B"}]
)
def test_what_cannot_be_an_order_reaches_no_cluster(
    rest: As, mirrored: Mirrored, nowhere: None, changed: dict[str, str]
) -> None:
    mirrored(offer("l40s", free=8))

    response = rest("alice").client.post(ORDER, order(**changed))

    name, typed = next(iter(changed.items()))
    html = response.content.decode()
    assert response.status_code == 422
    assert f'id="{name}-fault"' in html
    assert value_of(html, name) == typed


def test_a_cluster_that_is_away_keeps_the_input_and_the_same_form_works_later(
    rest: As, mirrored: Mirrored, nowhere: None
) -> None:
    mirrored(offer("l40s", free=8))

    response = rest("alice").client.post(ORDER, order())

    html = response.content.decode()
    assert response.status_code == 503
    assert "The cluster does not answer" in html
    assert value_of(html, "order_key") == KEY
    assert value_of(html, "name") == "train"
    assert ClaimRecord.objects.count() == 0


def test_checking_without_javascript_places_nothing(rest: As, mirrored: Mirrored, nowhere: None) -> None:
    mirrored(offer("l40s", free=8, most=4))

    response = rest("alice").client.post(ORDER, order(count="6", act="check"))

    assert response.status_code == 200
    assert "no single node has more than 4" in words(response.content.decode())


def test_releasing_asks_first_and_says_what_is_lost(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class(), a_claim(node="n1", attached_to="vm-1", gpus=2))
    client = rest("alice").client

    page = client.get(f"{HOLDS}one/release/").content.decode()
    fragment = client.get(f"{HOLDS}one/release/", headers={"HX-Request": "true"}).content.decode()

    for html in (page, fragment):
        assert "VM vm-1 runs with it" in words(html)
        assert value_of(html, "uid") == "claim-tenant-acme-one"
    assert "<html" not in fragment


def test_a_release_gives_it_back_and_a_second_one_is_harmless(rest: As, live: Live) -> None:
    live.put(a_class())
    live.sync()
    client = rest("alice").client
    client.post(ORDER, order())
    uid = live.claims()[0].metadata.uid

    for _ in range(2):
        assert client.post(f"{HOLDS}train/release/", {"uid": uid})["Location"] == HOLDS

    assert live.claims() == []
    assert "Released train." in text_of(client, HOLDS)


def test_a_release_that_fails_says_so_and_changes_nothing(
    rest: As, mirrored: Mirrored, nowhere: None
) -> None:
    mirrored(a_class(), a_claim(node="n1"))

    response = rest("alice").client.post(f"{HOLDS}one/release/", {"uid": "claim-tenant-acme-one"})

    assert response.status_code == 503
    assert "The cluster does not answer" in words(response.content.decode())
    assert ClaimRecord.objects.count() == 1


def test_what_fits_now_keeps_the_set_and_the_name_that_was_typed(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=2, display_name="L40S"), a_node())
    client = rest("alice").client
    sent = {**order(count="4"), "suggested": "l40s-0123", "set_name": "sim"}

    html = client.get(f"{ORDER}verdict/", sent).content.decode()
    address = unescape(html.split('class="panel-body picks"')[1].split('href="')[1].split('"')[0])
    page = client.get(address).content.decode()

    assert address == f"{ORDER}?class=l40s&count=2&set=sim&name=train"
    assert value_of(page, "name") == "train"
    assert value_of(page, "count") == "2"


@pytest.mark.parametrize(("query", "is_asked"), [("class=l40s", True), ("class=l40s&count=2", False)])
def test_the_count_is_where_one_types_first_unless_it_was_chosen(
    rest: As, mirrored: Mirrored, query: str, is_asked: bool
) -> None:
    mirrored(offer("l40s", free=2))

    html = rest("alice").client.get(f"{ORDER}?{query}").content.decode()

    assert (" autofocus" in html.split('id="id_count"')[1].split(">")[0]) is is_asked
