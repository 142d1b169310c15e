from __future__ import annotations

from typing import Any

import msgspec
import pytest

from catalog.services import (
    EditedMeanwhile,
    HasClaims,
    Loaded,
    Written,
    create_class,
    delete_class,
    stored_spec,
    update_class,
)
from kube.errors import AlreadyExists, Forbidden, Invalid
from kube.kinds import GPU_CLASSES
from portal.errors import from_kube_error
from portal.models import ClassRecord
from tests.builders import a_claim, a_class
from tests.fixtures.live import Live

SPEC: dict[str, Any] = {
    "vendor": "nvidia",
    "model": "L40S",
    "mode": "passthrough",
    "source": {"devicePlugin": {"resourceName": "nvidia.com/AD102GL_L40S"}},
    "memory": "46068Mi",
    "maxCount": 4,
    "nodeSelector": {"pool": "gpu"},
    "tolerations": [{"operator": "Exists"}, {"key": "dedicated", "value": "gpu"}],
}


def publish(live: Live, name: str = "l40s", *, who: str = "hoster", **changes: Any) -> Written:
    access, gateway = live.acting(who)
    return create_class(access=access, gateway=gateway, name=name, spec={**SPEC, **changes})


def edit(live: Live, loaded: Loaded, *, who: str = "hoster", **fields: Any) -> Written:
    access, gateway = live.acting(who)
    return update_class(access=access, gateway=gateway, name="l40s", loaded=loaded, fields=fields)


def loaded_from(written: Written) -> Loaded:
    meta = written.gpu_class.metadata
    return Loaded(uid=meta.uid, generation=meta.generation)


def on_server(live: Live) -> dict[str, Any]:
    return stored_spec(live.gateway.get(GPU_CLASSES, "l40s").raw)


def test_a_published_offer_is_in_cluster_and_mirror(live: Live) -> None:
    written = publish(live, profile=None)

    assert on_server(live) == {**SPEC, "onCordon": "Move"}
    record = ClassRecord.objects.get()
    assert (record.name, record.max_count, record.uid) == ("l40s", 4, written.gpu_class.metadata.uid)


def test_a_name_cannot_be_given_twice(live: Live) -> None:
    publish(live)

    with pytest.raises(AlreadyExists):
        publish(live)


def test_tenants_publish_nothing(live: Live) -> None:
    with pytest.raises(Forbidden):
        publish(live, who="alice")


def test_the_rules_of_the_schema_come_back_at_their_fields(live: Live) -> None:
    with pytest.raises(Invalid) as caught:
        publish(
            live,
            "total",
            memory="48GB",
            tolerations=[
                {"key": "a", "operator": "Exists"},
                {"key": "b", "operator": "Exists", "value": "c"},
            ],
        )

    causes = {cause.field: cause.message for cause in from_kube_error(caught.value).causes}
    assert causes == {
        "metadata.name": "GPUClass name total is reserved for the gpu.cozystack.io/total quota key",
        "spec.memory": "must be an amount such as 48Gi, without spaces",
        "spec.tolerations[1]": "a toleration with operator Exists takes no value",
    }


def test_an_edit_leaves_the_spelling_of_everything_else(live: Live) -> None:
    loaded = loaded_from(publish(live))

    edit(live, loaded, displayName="L40S 48 GB", **SPEC)

    assert on_server(live) == {**SPEC, "onCordon": "Move", "displayName": "L40S 48 GB"}
    assert ClassRecord.objects.get().display_name == "L40S 48 GB"


def test_what_is_removed_in_the_form_is_gone_on_the_server(live: Live) -> None:
    loaded = loaded_from(publish(live))

    written = edit(live, loaded, maxCount=None, memory=None, tolerations=[], nodeSelector={"pools": "gpu"})

    spec = on_server(live)
    assert not {"maxCount", "memory", "tolerations"} & spec.keys()
    assert spec["nodeSelector"] == {"pools": "gpu"}
    assert written.gpu_class.spec.max_count is None


def test_fields_the_form_does_not_show_are_kept(live: Live) -> None:
    loaded = loaded_from(publish(live))

    edit(live, loaded, maxCount=2)

    assert on_server(live) == {**SPEC, "maxCount": 2, "onCordon": "Move"}


def test_an_edit_that_changes_nothing_writes_nothing(live: Live) -> None:
    written = publish(live)

    again = edit(live, loaded_from(written), **SPEC)

    assert again.gpu_class.metadata.resource_version == written.gpu_class.metadata.resource_version


def test_a_status_written_since_is_no_conflict(live: Live) -> None:
    loaded = loaded_from(publish(live))
    live.patch(a_class("l40s"), {"status": {"free": 3, "maxFreePerNode": 2}}, subresource="status")

    edit(live, loaded, maxCount=2)

    found = live.gateway.get(GPU_CLASSES, "l40s").object
    assert (found.spec.max_count, found.status.free) == (2, 3)


def test_the_second_of_two_editors_is_told_what_it_is_now(live: Live) -> None:
    loaded = loaded_from(publish(live))
    edit(live, loaded, displayName="mine")

    with pytest.raises(EditedMeanwhile) as caught:
        edit(live, loaded, maxCount=1)

    assert caught.value.current.spec.display_name == "mine"
    assert on_server(live)["maxCount"] == 4


def test_an_offer_made_anew_under_the_same_name_is_another_one(live: Live) -> None:
    loaded = loaded_from(publish(live))
    withdraw(live)
    publish(live)

    with pytest.raises(EditedMeanwhile):
        edit(live, loaded, maxCount=1)


def withdraw(live: Live) -> None:
    access, gateway = live.acting("hoster")
    delete_class(access=access, gateway=gateway, name="l40s")


def test_an_offer_nobody_holds_is_withdrawn_and_withdrawing_again_is_fine(live: Live) -> None:
    publish(live)

    withdraw(live)
    withdraw(live)

    assert ClassRecord.objects.count() == 0


def test_an_offer_that_is_held_stays(live: Live) -> None:
    publish(live)
    live.put(a_claim("one"), a_claim("two", namespace="tenant-globex"))
    live.sync()

    with pytest.raises(HasClaims) as caught:
        withdraw(live)

    assert caught.value.claims == 2
    assert on_server(live)


def test_what_the_server_returns_is_what_the_mirror_holds(live: Live) -> None:
    written = publish(live)

    stored = msgspec.json.decode(bytes(ClassRecord.objects.get().body))
    assert stored == msgspec.json.decode(written.raw)
