from __future__ import annotations

from collections.abc import Callable

import pytest

from portal.models import ClaimRecord
from tests.builders import a_claim, a_class
from tests.fixtures.live import Live
from tests.fixtures.rest import Mirrored, Rest
from tests.pages import words

As = Callable[..., Rest]
HOLDS = "/tenants/tenant-acme/gpus/"
RELEASE = "/tenants/tenant-acme/release/"


def choices(*names: str) -> list[str]:
    """What the ticked boxes of these holds send."""
    return [f"{name}/{ClaimRecord.objects.get(namespace='tenant-acme', name=name).uid}" for name in names]


def test_a_box_stands_in_front_of_what_may_be_released(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class(), a_claim("mine", node="n1"), a_claim("leaving", node="n1", releasing=True))

    html = rest("alice").client.get(HOLDS).content.decode()

    assert 'value="mine/claim-tenant-acme-mine" form="chosen"' in html
    assert 'aria-label="Choose leaving" disabled title="Being released already"' in html
    assert 'name="hold"' not in rest("bob").client.get(HOLDS).content.decode()


def test_the_question_names_what_is_lost_by_each(rest: As, mirrored: Mirrored) -> None:
    mirrored(
        a_class(display_name="L40S"),
        a_claim("one", gpus=2, node="n1", attached_to="vm-1"),
        a_claim("two", node="n1"),
        a_claim("gone", node="n1", releasing=True),
    )
    sent = {"act": "ask", "hold": choices("one", "two", "gone")}
    client = rest("alice").client

    page = words(client.post(RELEASE, sent).content.decode())
    fragment = client.post(RELEASE, sent, headers={"HX-Request": "true"}).content.decode()

    assert "Release 2 holds?" in page
    assert "one 2 × L40S VM vm-1 runs with it" in page
    assert "gone 1 ×" not in page
    assert "<html" not in fragment
    assert "Release 3 GPUs" in words(fragment)


def test_each_of_them_tells_what_became_of_it(rest: As, live: Live) -> None:
    live.put(a_class(), a_claim("one"), a_claim("two"), a_claim("other"))
    live.sync()
    sent = {"act": "release", "hold": [*choices("one", "two"), "other/of-an-earlier-order", "nonsense"]}
    client = rest("alice").client

    first = words(client.post(RELEASE, sent).content.decode())
    again = words(client.post(RELEASE, sent).content.decode())

    assert "3 holds released" in first
    assert "one Released Given back." in first
    assert "3 holds released" in again
    assert [claim.metadata.name for claim in live.claims()] == ["other"]


def test_when_the_cluster_is_away_every_row_says_that_it_is_kept(
    rest: As, mirrored: Mirrored, nowhere: None
) -> None:
    mirrored(a_class(), a_claim("one"), a_claim("two"))

    page = words(
        rest("alice").client.post(RELEASE, {"act": "release", "hold": choices("one", "two")}).content.decode()
    )

    assert "0 of 2 released" in page
    assert "one Not released The cluster does not answer" in page
    assert "two Not released Not tried: the cluster does not answer." in page
    assert ClaimRecord.objects.count() == 2


@pytest.mark.parametrize("sent", [{}, {"act": "release"}, {"act": "ask", "hold": ["x", "/", "a/b/c", ""]}])
def test_nothing_chosen_leads_back_with_a_hint(rest: As, mirrored: Mirrored, sent: dict[str, object]) -> None:
    response = rest("alice").client.post(RELEASE, sent, follow=True)

    assert response.redirect_chain == [(HOLDS, 302)]
    assert "Tick the holds to release first." in response.content.decode()


def test_only_who_may_order_releases(rest: As, mirrored: Mirrored) -> None:
    mirrored(a_class(), a_claim("one"))
    sent = {"act": "release", "hold": choices("one")}

    assert rest("bob").client.post(RELEASE, sent).status_code == 403
    assert rest("charlie").client.post(RELEASE, sent).status_code == 404
    assert rest("alice").client.get(RELEASE)["Location"] == HOLDS
