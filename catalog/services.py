"""What publishing, editing and withdrawing an offer are: the one path for pages and REST API alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu.resources import GPUClass
from kube.gateway import Gateway
from portal.access import Access


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The version of an offer that a person began to edit (hidden fields of the form, from its metadata)."""

    uid: str
    generation: int


@dataclass(frozen=True, kw_only=True)
class Written:
    """The offer as the API server returned it, with its warnings, to be shown beside the success text."""

    gpu_class: GPUClass
    raw: bytes
    warnings: tuple[str, ...] = ()


class EditedMeanwhile(Exception):
    """Somebody else changed the offer's spec since it was loaded. ``current`` is what it is now."""

    def __init__(self, current: GPUClass) -> None:
        super().__init__(current.metadata.name)
        self.current = current


class HasClaims(Exception):
    """The offer cannot be withdrawn while orders hold it."""

    def __init__(self, name: str, claims: int) -> None:
        super().__init__(f"{name}: {claims}")
        self.name = name
        self.claims = claims


def create_class(
    *, access: Access, gateway: Gateway, name: str, spec: Mapping[str, Any], dry_run: bool = False
) -> Written:
    """Publish an offer. ``spec`` is the Kubernetes shape; fields that are None are left out.

    Raises kube.errors.AlreadyExists, Invalid (causes name the fields, such as ``spec.tolerations[1].value``), Forbidden and others.
    """
    raise NotImplementedError


def update_class(
    *,
    access: Access,
    gateway: Gateway,
    name: str,
    loaded: Loaded,
    fields: Mapping[str, Any],
    dry_run: bool = False,
) -> Written:
    """Change these fields of the spec; None removes one, what is not named stays. Untouched values keep their stored spelling.

    Changes of the status since the page was loaded do not matter. Raises EditedMeanwhile, kube.errors.NotFound, Invalid and others.
    """
    raise NotImplementedError


def delete_class(
    *, access: Access, gateway: Gateway, name: str, uid: str | None = None, dry_run: bool = False
) -> None:
    """Withdraw an offer that nobody holds. Already gone is fine. Raises HasClaims, kube.errors.KubeError."""
    raise NotImplementedError
