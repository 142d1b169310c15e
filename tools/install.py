"""Put the CRDs and the rights of the portal into a cluster: ``python -m tools.install --kubeconfig F``.

Asks first. Repeating it is safe: what is there already is brought to the state of deploy/. The admission webhook is not part of
it: its certificate is the controller's own, which installs the webhook when it begins to lead.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Final

from kube import config, kinds
from kube.errors import KubeError, NotFound, NotServed
from kube.gateway import Gateway, PatchType
from kube.kinds import AnyKind
from tools import manifests

DEPLOY: Final = Path(__file__).resolve().parent.parent / "deploy"
SYSTEM_NAMESPACE: Final = "gpu-portal-system"
_MANAGER: Final = "gpu-portal-install"
_SERVED_WITHIN_SECONDS: Final = 30.0


def install(gateway: Gateway, *folders: Path) -> int:
    """Apply every object of the folders and wait until the kinds among them are served; give how many there are."""
    wanted = manifests.read(*folders)
    for kind, body in wanted:
        gateway.patch(
            kind,
            body["metadata"]["name"],
            body,
            namespace=body["metadata"].get("namespace"),
            patch_type=PatchType.APPLY,
            field_manager=_MANAGER,
            force=True,
        )
    for kind, body in wanted:
        if kind is kinds.CRDS:
            _wait_until_served(gateway, body)
    return len(wanted)


def _wait_until_served(gateway: Gateway, crd: dict[str, Any]) -> None:
    spec = crd["spec"]
    versions = [version["name"] for version in spec["versions"] if version["served"]]
    deadline = time.monotonic() + _SERVED_WITHIN_SECONDS
    for version in versions:
        names = spec["names"]
        kind: AnyKind = kinds.Kind(
            spec["group"],
            version,
            names["plural"],
            names["kind"],
            spec["scope"] == "Namespaced",
            kinds.Opaque,
        )
        while not _is_served(gateway, kind):
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{crd['metadata']['name']} is not served after {_SERVED_WITHIN_SECONDS:.0f} s"
                )
            time.sleep(0.05)


def _is_served(gateway: Gateway, kind: AnyKind) -> bool:
    try:
        gateway.list(kind, limit=1)
    except NotServed:
        return False
    return True


def install_portal(gateway: Gateway) -> int:
    """Install all that the portal needs of a cluster; give how many objects that is."""
    try:
        gateway.get(kinds.NAMESPACES, SYSTEM_NAMESPACE)
    except NotFound:
        gateway.create(kinds.NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
    return install(gateway, DEPLOY / "crds", DEPLOY / "rbac")


def confirmed(server: str) -> bool:
    """Ask the person at the console. Where there is none, the answer is no."""
    question = f"Install the CRDs and the roles of the portal into {server}? [y/N] "
    if not sys.stdin.isatty():
        print(f"{question}\nNobody is there to answer; YES=1 says yes beforehand.", file=sys.stderr)
        return False
    return input(question).strip().lower() in ("y", "yes")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.install", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, help="default: KUBECONFIG")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    arguments = parser.parse_args()

    cluster = config.load(arguments.kubeconfig)
    if not (arguments.yes or confirmed(cluster.server)):
        print("Nothing was installed.")
        return 1
    try:
        with Gateway.connect(cluster) as gateway:
            count = install_portal(gateway)
    except KubeError as error:
        print(f"{cluster.server}: {error}", file=sys.stderr)
        return 1
    print(f"{count} objects are as in deploy/crds and deploy/rbac.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
