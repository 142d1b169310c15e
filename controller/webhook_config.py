"""The controller's own ValidatingWebhookConfiguration: where the API server asks, and whom it trusts there."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from controller.fenced import FencedGateway
from controller.names import CONFIG_NAME
from controller.webhook import CLAIM_PATH, CLASS_PATH
from gpu.resources import GROUP, VERSION
from kube.errors import AlreadyExists, Conflict, NotFound
from kube.kinds import GPU_CLAIMS, GPU_CLASSES, WEBHOOKS, AnyKind

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ServiceAddress:
    namespace: str
    name: str
    port: int = 443

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names the API server may call it by."""
        return f"{self.name}.{self.namespace}.svc", f"{self.name}.{self.namespace}.svc.cluster.local"


@dataclass(frozen=True)
class WebhookAddress:
    """Where the webhook is reached: by URL (outside a cluster) or through a Service.

    ``ca`` gives the authority to trust now: it may be renewed.
    """

    ca: Callable[[], bytes]
    base_url: str = ""
    service: ServiceAddress | None = None

    def client_config(self, path: str) -> dict[str, Any]:
        config: dict[str, Any] = {"caBundle": base64.b64encode(self.ca()).decode()}
        if self.service is None:
            return {**config, "url": self.base_url + path}
        service = {
            "namespace": self.service.namespace,
            "name": self.service.name,
            "port": self.service.port,
            "path": path,
        }
        return {**config, "service": service}


def webhook_configuration(address: WebhookAddress, *, timeout_seconds: int) -> dict[str, Any]:
    """Describe both webhooks. They fail closed: an order nobody checked could sell a unit twice."""
    return {
        "metadata": {"name": CONFIG_NAME},
        "webhooks": [
            _webhook("gpuclaims", address.client_config(CLAIM_PATH), GPU_CLAIMS, ["CREATE"], timeout_seconds),
            _webhook(
                "gpuclasses",
                address.client_config(CLASS_PATH),
                GPU_CLASSES,
                ["UPDATE", "DELETE"],
                timeout_seconds,
            ),
        ],
    }


def _webhook(
    name: str, client_config: dict[str, Any], kind: AnyKind, operations: list[str], timeout_seconds: int
) -> dict[str, Any]:
    return {
        "name": f"{name}.{GROUP}",
        "clientConfig": client_config,
        "rules": [
            {
                "apiGroups": [GROUP],
                "apiVersions": [VERSION],
                "operations": operations,
                "resources": [kind.plural],
                "scope": "Namespaced" if kind.namespaced else "Cluster",
            }
        ],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": timeout_seconds,
        "admissionReviewVersions": ["v1"],
    }


def covers(actual: Any, wanted: Any) -> bool:
    """Say whether an object says all that is wanted; what the API server added by default does not count."""
    if isinstance(wanted, Mapping):
        return isinstance(actual, Mapping) and all(
            covers(actual.get(key), want) for key, want in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(wanted)
            and all(covers(have, want) for have, want in zip(actual, wanted, strict=True))
        )
    return bool(actual == wanted)


async def install(gateway: FencedGateway, wanted: dict[str, Any]) -> None:
    """Make the API server's configuration say what is wanted. No difference, no write."""
    try:
        found = await gateway.get(WEBHOOKS, CONFIG_NAME)
    except NotFound:
        try:
            await gateway.create(WEBHOOKS, wanted)
        except AlreadyExists:
            log.info("another controller installed the webhook first")
        return
    if covers(msgspec.json.decode(found.raw), wanted):
        return
    version = found.object.metadata.resource_version
    try:
        await gateway.replace(
            WEBHOOKS, {**wanted, "metadata": {"name": CONFIG_NAME, "resourceVersion": version}}
        )
    except Conflict:
        log.info("the webhook changed meanwhile, will look again")
