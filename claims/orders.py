"""The words around an order: what is asked for, what came of it, and the named ways it can fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gpu.fit import Order, Refusal
from gpu.resources import GROUP, GPUClaim

ORDER_KEY_ANNOTATION: Final = f"{GROUP}/order-key"
"""On a claim: the key of the order that made it. The same key again means the same order, not another one."""


@dataclass(frozen=True, kw_only=True)
class OrderSpec:
    """What a person asks for.

    ``order_key`` is made once per form or per request and sent again on every retry: the same key never makes two claims.
    With an empty ``name`` one is derived from the class and the key.
    """

    namespace: str
    class_name: str
    count: int = 1
    name: str = ""
    set_name: str | None = None
    order_key: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def order(self) -> Order:
        """The order as the fit check sees it."""
        return Order(
            namespace=self.namespace, class_name=self.class_name, count=self.count, set_name=self.set_name
        )


@dataclass(frozen=True, kw_only=True)
class Placed:
    """The claim as the API server returned it. ``is_new`` is False when the same order had been placed before."""

    claim: GPUClaim
    raw: bytes
    is_new: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Released:
    """What became of a release: ``claim`` is None when it is gone, else it waits for its VM to stop."""

    claim: GPUClaim | None


class OrderRefused(Exception):
    """Admission said no, with all its reasons."""

    def __init__(self, refusals: tuple[Refusal, ...], *, retry_after_seconds: int | None = None) -> None:
        super().__init__(", ".join(refusal.reason for refusal in refusals))
        self.refusals = refusals
        self.retry_after_seconds = retry_after_seconds


class NameTaken(Exception):
    """Another order of this tenant has the name already."""

    def __init__(self, namespace: str, name: str) -> None:
        super().__init__(f"{namespace}/{name}")
        self.namespace = namespace
        self.name = name
