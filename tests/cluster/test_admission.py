"""What deploy/controller ships, and what the controller installs with it, is what a real API server takes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from controller.webhook_config import ServiceAddress, WebhookAddress, covers, webhook_configuration
from kube.certificates import issue_authority
from kube.kinds import NAMESPACES, WEBHOOKS, AnyKind, Kind, Opaque
from tests.kube.wire import Wire

MANIFESTS: Final = Path(__file__).resolve().parents[2] / "deploy" / "controller" / "controller.yaml"
KINDS: Final[dict[str, AnyKind]] = {
    "Deployment": Kind("apps", "v1", "deployments", "Deployment", True, Opaque),
    "Service": Kind("", "v1", "services", "Service", True, Opaque),
}
SYSTEM: Final = "gpu-portal-system"


@pytest.fixture(scope="module")
def manifests() -> dict[str, dict[str, Any]]:
    return {body["kind"]: body for body in yaml.safe_load_all(MANIFESTS.read_text()) if body is not None}


@pytest.mark.parametrize("kind", KINDS)
def test_the_manifests_are_taken_as_written(
    wire: Wire, manifests: dict[str, dict[str, Any]], kind: str
) -> None:
    wire.create(NAMESPACES, {"metadata": {"name": SYSTEM}})

    answer = wire.create(
        KINDS[kind], manifests[kind], namespace=SYSTEM, dryRun="All", fieldValidation="Strict"
    )

    assert answer.code == 201, answer.body
    assert covers(answer.json["spec"]["selector"], manifests[kind]["spec"]["selector"])


def test_the_webhook_through_the_service_is_taken_as_written(wire: Wire) -> None:
    authority = issue_authority("test", now=datetime.now(UTC)).certificate
    service = ServiceAddress(namespace=SYSTEM, name="gpu-portal-controller")
    wanted = webhook_configuration(WebhookAddress(ca=lambda: authority, service=service), timeout_seconds=5)

    answer = wire.create(WEBHOOKS, wanted, dryRun="All", fieldValidation="Strict")

    assert answer.code == 201, answer.body
    assert covers(answer.json, {"webhooks": wanted["webhooks"]})
