"""Every page there is, with somebody who sees something on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class PageOf:
    """A page: its name for people, who looks (nobody: not signed in), and its address in the demo."""

    name: str
    who: str | None
    path: str


PAGES: Final = (
    PageOf("sign-in", None, "/login/"),
    PageOf("catalog", "alice", "/"),
    PageOf("catalog-of-a-viewer", "bob", "/"),
    PageOf("catalog-of-the-hoster", "hoster", "/"),
    PageOf("order", "alice", "/tenants/tenant-acme/order/?class=a100-80g"),
    PageOf("order-refused", "alice", "/tenants/tenant-acme/order/?class=h100-sxm&count=6"),
    PageOf("holds", "alice", "/tenants/tenant-acme/gpus/"),
    PageOf("holds-of-a-viewer", "bob", "/tenants/tenant-acme/gpus/"),
    PageOf("holds-none", "admin-acme", "/tenants/tenant-acme-lab/gpus/"),
    PageOf("hold", "alice", "/tenants/tenant-acme/gpus/train-1/"),
    PageOf("hold-waiting", "alice", "/tenants/tenant-acme/gpus/preview/"),
    PageOf("hold-releasing", "alice", "/tenants/tenant-acme/gpus/old-sim/"),
    PageOf("release", "alice", "/tenants/tenant-acme/gpus/notebook/release/"),
    PageOf("budget", "alice", "/tenants/tenant-acme/budget/"),
    PageOf("history", "alice", "/tenants/tenant-acme/history/"),
    PageOf("not-found", "charlie", "/tenants/tenant-acme/gpus/"),
    PageOf("overview", "hoster", "/hoster/"),
    PageOf("offers", "hoster", "/hoster/offers/"),
    PageOf("offer-new", "hoster", "/hoster/new-offer/"),
    PageOf("offer-edit", "hoster", "/hoster/offers/h200-sxm/"),
    PageOf("offer-delete", "hoster", "/hoster/offers/h200-sxm/delete/"),
    PageOf("holds-of-all", "hoster", "/hoster/holds/"),
    PageOf("tenants", "hoster", "/hoster/tenants/"),
    PageOf("holds-for-a-tenant", "hoster", "/tenants/tenant-acme/gpus/"),
    PageOf("nodes", "hoster", "/hoster/nodes/"),
    PageOf("node", "hoster", "/hoster/nodes/hgx-h200-1/"),
    PageOf("node-with-a-dead-device", "hoster", "/hoster/nodes/l4-2/"),
)
