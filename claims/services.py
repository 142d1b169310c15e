"""What placing an order and releasing a hold are: the one path for pages and REST API alike."""

from __future__ import annotations

from claims.orders import OrderSpec, Placed, Released
from kube.gateway import Gateway
from portal.access import Access


def place_order(*, access: Access, gateway: Gateway, spec: OrderSpec, dry_run: bool = False) -> Placed:
    """Place the order as the user, once, however often it is sent, and give the claim.

    Raises OrderRefused with all reasons, NameTaken, or a kube.errors.KubeError: after Unavailable send the same spec again.
    """
    raise NotImplementedError


def release(
    *, access: Access, gateway: Gateway, namespace: str, name: str, uid: str, dry_run: bool = False
) -> Released:
    """Release the claim that the user was looking at (``uid``). Releasing twice, or what is gone, is fine.

    A claim of the same name that was ordered since is left alone. Raises kube.errors.KubeError.
    """
    raise NotImplementedError
