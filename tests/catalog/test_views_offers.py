from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from catalog.offer_form import OfferForm
from gpu.resources import Effect, Operator, Toleration, to_json
from kube.kinds import GPU_CLASSES
from portal.mirror import stock
from portal.models import ClassRecord
from tests.builders import a_claim, a_class, a_node
from tests.catalog.test_forms_offer import GOOD, posted
from tests.fixtures.live import Live
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import offer, text_of, words

As = Callable[..., Rest]
OFFERS = "/hoster/offers/"
NEW = "/hoster/new-offer/"


def spec_of(live: Live, name: str = "l40s") -> dict[str, object]:
    spec: dict[str, object] = to_json(live.gateway.get(GPU_CLASSES, name).object)["spec"]
    return spec


def edit_form(live: Live, name: str = "l40s") -> dict[str, str]:
    """What the browser would send for the edit page as it opens."""
    return posted(OfferForm.of(ClassRecord.objects.get(name=name).object))


@pytest.mark.parametrize(
    "path",
    [
        "/hoster/",
        OFFERS,
        NEW,
        f"{OFFERS}l40s/",
        f"{OFFERS}l40s/delete/",
        "/hoster/nodes/",
        "/hoster/nodes/n1/",
    ],
)
@pytest.mark.parametrize("who", ["alice", "bob", "stranger"])
def test_the_hosters_pages_do_not_exist_for_anybody_else(
    rest: As, mirrored: Mirrored, who: str, path: str
) -> None:
    mirrored(a_class(), a_node())

    assert rest(who).client.get(path).status_code == 404
    assert rest(who).client.post(path, GOOD).status_code in {404, 405}
    assert rest("hoster").client.get(path).status_code == 200


def test_an_offer_is_published_as_it_was_typed(rest: As, live: Live) -> None:
    sent = {
        **GOOD,
        "tolerations-rows": "2",
        "tolerations-0-operator": "Exists",
        "tolerations-1-operator": "Equal",
    }

    response = rest("hoster").client.post(NEW, sent)

    assert response["Location"] == f"{OFFERS}l40s/"
    assert spec_of(live)["tolerations"] == [{"operator": "Exists"}]
    assert spec_of(live)["memory"] == "48Gi"
    assert "Published l40s." in text_of(rest("hoster").client, OFFERS) or ClassRecord.objects.count() == 1


@pytest.mark.parametrize("name", ["new", "delete", "edit", "8"])
def test_an_offer_named_like_a_word_of_an_address_still_opens(
    rest: As, mirrored: Mirrored, name: str
) -> None:
    mirrored(a_class(name))

    assert f"Edit {name}" in text_of(rest("hoster").client, f"{OFFERS}{name}/")


def test_a_taken_name_is_said_at_the_name(rest: As, live: Live) -> None:
    live.put(a_class())
    live.sync()

    response = rest("hoster").client.post(NEW, GOOD)

    html = response.content.decode()
    assert response.status_code == 422
    assert "There is an offer of this name already" in html.split('id="name-fault"')[1]


def test_an_edit_changes_what_was_changed_and_nothing_else(rest: As, live: Live) -> None:
    live.put(
        a_class(
            tolerations=[
                Toleration(operator=Operator.EXISTS),
                Toleration(key="a", effect=Effect.NO_EXECUTE, toleration_seconds=0),
            ],
            selector={"pool": "gpu"},
        )
    )
    live.sync()
    before = spec_of(live)

    response = rest("hoster").client.post(f"{OFFERS}l40s/", edit_form(live) | {"display_name": "Fast"})

    assert response["Location"] == f"{OFFERS}l40s/"
    assert spec_of(live) == {**before, "displayName": "Fast"}


def test_all_rows_can_be_removed(rest: As, live: Live) -> None:
    live.put(
        a_class(tolerations=[Toleration(operator=Operator.EXISTS)], selector={"pool": "gpu"}, max_count=3)
    )
    live.sync()
    sent = edit_form(live) | {"tolerations-rows": "0", "selector-rows": "0", "max_count": ""}

    rest("hoster").client.post(f"{OFFERS}l40s/", sent)

    assert {"tolerations", "nodeSelector", "maxCount"}.isdisjoint(spec_of(live))


def test_somebody_elses_change_is_shown_and_saved_over_only_on_purpose(rest: As, live: Live) -> None:
    live.put(a_class())
    live.sync()
    client = rest("hoster").client
    mine = edit_form(live) | {"max_count": "2"}
    client.post(f"{OFFERS}l40s/", edit_form(live) | {"max_count": "4"})

    response = client.post(f"{OFFERS}l40s/", mine)

    html = response.content.decode()
    assert response.status_code == 409
    assert "Somebody else changed this offer" in html
    assert "Most in one VM 4 2" in words(html)
    assert spec_of(live)["maxCount"] == 4
    generation = re.findall(r'name="generation" value="(\d+)"', html)[0]
    client.post(f"{OFFERS}l40s/", mine | {"generation": generation})
    assert spec_of(live)["maxCount"] == 2


def test_an_offer_that_is_held_cannot_be_withdrawn_and_the_holds_are_named(rest: As, live: Live) -> None:
    live.put(a_class(), a_claim("one"))
    live.sync()
    client = rest("hoster").client

    assert "1 order holds it" in text_of(client, f"{OFFERS}l40s/delete/")
    response = client.post(f"{OFFERS}l40s/delete/")

    assert response.status_code == 409
    assert "cannot be withdrawn" in words(response.content.decode())
    assert spec_of(live)


def test_an_offer_nobody_holds_is_withdrawn(rest: As, live: Live) -> None:
    live.put(a_class())
    live.sync()
    client = rest("hoster").client

    assert client.post(f"{OFFERS}l40s/delete/")["Location"] == OFFERS
    assert ClassRecord.objects.count() == 0
    assert client.get(f"{OFFERS}l40s/").status_code == 404


@pytest.mark.parametrize("act", ["add:tolerations", "add:selector"])
def test_a_row_is_added_without_javascript_and_without_a_fault_yet(
    rest: As, mirrored: Mirrored, act: str
) -> None:
    sent = {
        "name": "Typed",
        "tolerations-rows": "1",
        "tolerations-0-key": "kept",
        "selector-rows": "1",
        "act": act,
    }

    response = rest("hoster").client.post(NEW, sent)

    html = response.content.decode().split("<template")[0]
    kind = act.partition(":")[2]
    assert response.status_code == 200
    assert f'name="{kind}-rows" value="2"' in html
    assert 'value="kept"' in html
    assert 'value="Typed"' in html
    assert 'class="fault"' not in html


def test_what_a_row_means_is_said_beside_it(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        a_class(tolerations=[Toleration(operator=Operator.EXISTS)], resource="nvidia.com/L4OS"), a_node()
    )
    stock.recount()

    text = text_of(rest("hoster").client, f"{OFFERS}l40s/")

    assert "Tolerates every taint of any effect" in text
    assert "No node advertises this resource" in text


def test_a_resource_that_nobody_advertises_is_warned_of_once_with_the_closest_one_to_take(
    rest: As, mirrored: Mirrored
) -> None:
    mirrored(
        offer("l40s", free=0, served=False, resource="nvidia.com/GRID_T4_2Q"),
        a_class("other", resource="nvidia.com/GRID_T4-2Q"),
        a_node(resource="nvidia.com/GRID_T4-2Q"),
    )
    stock.recount()
    client = rest("hoster").client

    html = client.get(f"{OFFERS}l40s/").content.decode()
    taken = client.post(f"{OFFERS}l40s/", {**GOOD, "act": "take:nvidia.com/GRID_T4-2Q"}).content.decode()

    assert words(html).count("No node advertises this resource") == 1
    assert html.count('class="panel-body fault text-low"') == 0
    assert 'value="take:nvidia.com/GRID_T4-2Q"' in html
    assert 'name="resource_name" value="nvidia.com/GRID_T4-2Q"' in taken
    assert "No node advertises" not in taken
    assert text_of(client, "/hoster/").count("No node advertises this resource") == 1


def test_the_list_says_why_nothing_of_an_offer_is_free(rest: As, mirrored: Mirrored) -> None:
    mirrored(offer("l40s", free=0, served=False), offer("sold", free=0))

    text = text_of(rest("hoster").client, OFFERS)

    assert "Not served The nodes that could serve it are not ready, cordoned or closed to VMs." in text
    assert text.count("The nodes that could") == 1
