"""The shipped Deployment and Service fit each other, the program and its rights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.options import Options, parse_options
from controller.webhook_config import ServiceAddress, WebhookAddress, webhook_configuration
from gpu.resources import GROUP

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMESPACE = "gpu-portal-system"


def read(path: str) -> dict[str, dict[str, Any]]:
    bodies = yaml.safe_load_all((DEPLOY / path).read_text())
    return {body["kind"]: body for body in bodies if body is not None}


DEPLOYMENT, SERVICE = (read("controller/controller.yaml")[kind] for kind in ("Deployment", "Service"))
POD = DEPLOYMENT["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]


@pytest.fixture
def options() -> Options:
    environ = {"LEASE_NAMESPACE": DEPLOYMENT["metadata"]["namespace"], "CONTROLLER_IDENTITY": "pod-1"}
    return parse_options(CONTAINER["args"], environ)


def test_the_program_understands_its_arguments(options: Options) -> None:
    assert CONTAINER["command"] == ["python", "-m", "controller"]
    assert {entry["name"] for entry in CONTAINER["env"]} == {"LEASE_NAMESPACE", "CONTROLLER_IDENTITY"}
    assert options.kubeconfig is None, "the pod's own service account"
    ports = {port["name"]: port["containerPort"] for port in CONTAINER["ports"]}
    assert ports == {"webhook": options.webhook_port, "metrics": options.metrics_port}
    assert str(options.state) in {mount["mountPath"] for mount in CONTAINER["volumeMounts"]}


def test_the_webhook_is_asked_through_the_service(options: Options) -> None:
    assert options.install_webhook == "service"
    service = ServiceAddress(namespace=options.lease_namespace, name=options.webhook_service)
    address = WebhookAddress(ca=lambda: b"", service=service)

    configuration = webhook_configuration(address, timeout_seconds=options.timings.webhook_seconds)

    port = SERVICE["spec"]["ports"][0]
    for webhook in configuration["webhooks"]:
        asked = webhook["clientConfig"]["service"]
        assert (asked["namespace"], asked["name"]) == (NAMESPACE, SERVICE["metadata"]["name"])
        assert asked["port"] == port["port"]
        assert webhook["timeoutSeconds"] == 5
        assert webhook["name"].endswith(GROUP)
    assert port["targetPort"] == "webhook"
    assert service.host_names[0] in (DEPLOY / "controller" / "controller.yaml").read_text()


def test_the_service_leads_to_the_leader_only() -> None:
    assert SERVICE["spec"]["selector"].items() <= POD["metadata"]["labels"].items()
    assert not SERVICE["spec"].get("publishNotReadyAddresses")
    assert CONTAINER["readinessProbe"]["httpGet"] == {"path": "/leadz", "port": "webhook", "scheme": "HTTPS"}
    assert CONTAINER["readinessProbe"]["failureThreshold"] == 1
    assert CONTAINER["livenessProbe"]["httpGet"]["path"] == "/healthz", "a follower is alive"


def test_a_rollout_replaces_the_one_ready_pod() -> None:
    assert DEPLOYMENT["spec"]["replicas"] >= 2
    assert DEPLOYMENT["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": "100%", "maxSurge": 0}


def test_it_runs_as_the_account_that_deploy_rbac_gives_rights() -> None:
    account = read("rbac/controller.yaml")["ServiceAccount"]["metadata"]

    assert POD["spec"]["serviceAccountName"] == account["name"]
    assert account["namespace"] == DEPLOYMENT["metadata"]["namespace"] == SERVICE["metadata"]["namespace"]
