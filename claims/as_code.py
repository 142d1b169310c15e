"""An order as code: the same order through kubectl and through the REST API."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

import yaml

from claims.orders import OrderSpec
from gpu.resources import API_VERSION


@dataclass(frozen=True)
class OrderAsCode:
    kubectl: str
    curl: str


def order_as_code(spec: OrderSpec, *, base_url: str, username: str) -> OrderAsCode:
    """Write the order. ``base_url`` is this portal's own address, without a slash at the end."""
    body = _body(spec)
    manifest = yaml.safe_dump(body, sort_keys=False)
    url = f"{base_url}/api/v1/tenants/{spec.namespace}/claims/"
    del body["metadata"]["namespace"]
    lines = [
        f"curl -u {shlex.quote(username)} {shlex.quote(url)}",
        "-H 'Content-Type: application/json'",
        f"-H 'Idempotency-Key: {spec.order_key}'",
        f"-d {shlex.quote(json.dumps(body))}",
    ]
    # Quoted, the mark keeps the shell from reading anything in the manifest as a command.
    return OrderAsCode(kubectl=f"kubectl apply -f - <<'EOF'\n{manifest}EOF", curl=" \\\n  ".join(lines))


def _body(spec: OrderSpec) -> dict[str, Any]:
    wanted: dict[str, Any] = {"className": spec.class_name, "count": spec.count}
    if spec.set_name:
        wanted["setName"] = spec.set_name
    return {
        "apiVersion": API_VERSION,
        "kind": "GPUClaim",
        "metadata": {"name": spec.name, "namespace": spec.namespace},
        "spec": wanted,
    }
