"""What is written of quotas and of the webhook, as values."""

from __future__ import annotations

import base64

import pytest

from controller.options import parse_options
from controller.quota_usage import published_keys, usage_change
from controller.webhook_config import ServiceAddress, WebhookAddress, covers, webhook_configuration
from gpu.corekinds import ObjectMeta, ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus

BARE, LIMITS, REQUESTS = (f"{prefix}gpu.cozystack.io/h100" for prefix in ("", "limits.", "requests."))


def a_quota(
    *keys: str, used: dict[str, str | int] | None = None, scopes: tuple[str, ...] = ()
) -> ResourceQuota:
    return ResourceQuota(
        metadata=ObjectMeta(name="gpus", namespace="tenant-acme"),
        spec=ResourceQuotaSpec(hard=dict.fromkeys(keys, "4"), scopes=list(scopes)),
        status=ResourceQuotaStatus(used=used or {}),
    )


def test_use_is_published_for_the_spellings_nobody_else_writes() -> None:
    assert usage_change(a_quota(BARE, LIMITS, REQUESTS, "cpu"), {"h100": 2}) == {BARE: "2", LIMITS: "2"}


@pytest.mark.parametrize("used", [2, "2"])
def test_what_is_published_already_is_not_written_again(used: str | int) -> None:
    assert usage_change(a_quota(BARE, used={BARE: used}), {"h100": 2}) == {}


def test_a_key_the_quota_no_longer_sets_is_taken_out_and_others_are_left_alone() -> None:
    quota = a_quota(BARE, used={BARE: "2", LIMITS: "2", REQUESTS: "0", "cpu": "1"})

    assert usage_change(quota, {"h100": 2}) == {LIMITS: None}


def test_a_scoped_quota_is_no_gpu_budget() -> None:
    assert published_keys(a_quota(BARE, scopes=("BestEffort",))) == {}


def an_address(service: ServiceAddress | None = None) -> WebhookAddress:
    return WebhookAddress(ca=lambda: b"PEM", base_url="https://127.0.0.1:9443", service=service)


def test_the_webhook_fails_closed_and_dry_runs_are_welcome() -> None:
    claims, classes = webhook_configuration(an_address(), timeout_seconds=5)["webhooks"]

    assert claims["clientConfig"]["url"] == "https://127.0.0.1:9443/validate-gpuclaim"
    assert base64.b64decode(claims["clientConfig"]["caBundle"]) == b"PEM"
    assert (claims["rules"][0]["operations"], claims["rules"][0]["resources"]) == (["CREATE"], ["gpuclaims"])
    assert (classes["rules"][0]["operations"], classes["rules"][0]["resources"]) == (
        ["UPDATE", "DELETE"],
        ["gpuclasses"],
    )
    for webhook in (claims, classes):
        assert (webhook["failurePolicy"], webhook["sideEffects"]) == ("Fail", "NoneOnDryRun")
        assert webhook["timeoutSeconds"] == 5


def test_in_a_cluster_it_is_reached_through_its_service() -> None:
    address = an_address(ServiceAddress(namespace="gpu-portal-system", name="controller"))

    client_config = webhook_configuration(address, timeout_seconds=5)["webhooks"][0]["clientConfig"]

    assert "url" not in client_config
    assert client_config["service"]["name"] == "controller"


def test_defaults_of_the_server_are_no_difference_and_a_change_is() -> None:
    wanted = webhook_configuration(an_address(), timeout_seconds=5)
    metadata = {"name": "gpu-portal", "uid": "x", "resourceVersion": "7"}
    webhooks = [{**webhook, "namespaceSelector": {}} for webhook in wanted["webhooks"]]
    stored = {"metadata": metadata, "webhooks": webhooks}

    assert covers(stored, wanted)
    assert not covers(stored, webhook_configuration(an_address(), timeout_seconds=6))
    assert not covers({"metadata": metadata, "webhooks": webhooks[:1]}, wanted)


def test_options_come_from_the_command_line_then_the_environment() -> None:
    environ = {"KUBECONFIG": "/from/env", "WEBHOOK_PORT": "9443", "LEASE_SECONDS": "30"}

    options = parse_options(["--webhook-port=9000", "--install-webhook=service"], environ)

    assert str(options.kubeconfig) == "/from/env"
    assert (options.webhook_port, options.install_webhook) == (9000, "service")
    assert options.lease.renew_deadline_seconds < options.lease.duration_seconds == 30


def test_two_processes_never_share_an_identity_by_accident() -> None:
    assert parse_options([], {}).identity != parse_options([], {}).identity


@pytest.mark.parametrize(
    "argument",
    ["--webhook-port=many", "--install-webhook=maybe", "--unknown", "--reservation-seconds=29"],
)
def test_an_option_that_makes_no_sense_is_a_usage_error(argument: str) -> None:
    with pytest.raises(SystemExit):
        parse_options([argument], {})
