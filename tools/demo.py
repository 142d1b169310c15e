"""Put the demo cluster of deploy/demo into an API server: ``python -m tools.demo --kubeconfig F``.

For an empty cluster, and before the controller's first start: the claims are written with their nodes, as a controller left
them, and no admission stands in between. Objects that exist already are left as they are.
"""

from __future__ import annotations

import argparse
import copy
import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kube import config, kinds
from kube.errors import AlreadyExists, NotFound, Unavailable
from kube.gateway import Gateway
from kube.kinds import AnyKind
from tools import manifests

DEPLOY: Final = Path(__file__).resolve().parent.parent / "deploy"
_SERVED_WITHIN_SECONDS: Final = 15.0
logger = logging.getLogger(__name__)


def load(gateway: Gateway, *folders: Path, now: datetime) -> int:
    """Create the folders' objects with their statuses; give how many were new."""
    return sum(_create(gateway, kind, body, now=now) for kind, body in manifests.read(*folders))


def _create(gateway: Gateway, kind: AnyKind, body: dict[str, Any], *, now: datetime) -> bool:
    wanted = _with_times(kind, copy.deepcopy(body), now=now)
    status = wanted.pop("status", None)
    is_deleted = wanted["metadata"].pop("deletionTimestamp", None) is not None
    name, namespace = wanted["metadata"]["name"], wanted["metadata"].get("namespace")

    try:
        _when_served(lambda: gateway.create(kind, wanted, namespace=namespace))
    except AlreadyExists:
        return False
    if status is not None and kind is not kinds.CRDS:
        gateway.patch(kind, name, {"status": status}, namespace=namespace, subresource="status")
    if is_deleted:
        gateway.delete(kind, name, namespace=namespace)
    return True


def _with_times(kind: AnyKind, body: dict[str, Any], *, now: datetime) -> dict[str, Any]:
    """Fill in the times that a file cannot know."""
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = body.get("status", {})
    if kind is kinds.GPU_CLAIMS and "nodeName" in status:
        status.setdefault("boundAt", stamp)
    if kind is kinds.GPU_NODES:
        status.setdefault("observedAt", stamp)
    if kind is kinds.PODS:
        status.setdefault("startTime", stamp)
    for condition in status.get("conditions", []):
        condition.setdefault("lastTransitionTime", stamp)
    return body


def _when_served(create: Callable[[], object]) -> None:
    """Call until the server knows the kind: a CRD is served a moment after it was accepted."""
    deadline = time.monotonic() + _SERVED_WITHIN_SECONDS
    while True:
        try:
            create()
        except (NotFound, Unavailable):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.demo", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, help="default: KUBECONFIG")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)

    gateway = Gateway.connect(config.load(arguments.kubeconfig))
    created = load(gateway, DEPLOY / "crds", DEPLOY / "rbac", DEPLOY / "demo", now=datetime.now(UTC))
    logger.info("%d objects created", created)
    return 0


if __name__ == "__main__":
    sys.exit(main())
