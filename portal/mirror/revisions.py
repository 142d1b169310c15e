"""A new revision for what web processes remember: the tenant tree and the budgets in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpu.corekinds import Namespace, ResourceQuota
from kube.kinds import NAMESPACES, RESOURCE_QUOTAS
from portal.mirror import feeds
from portal.mirror.changes import Change, on_change


def watch_changes() -> None:
    """Give revisions from now on."""
    on_change(NAMESPACES, _revise)
    on_change(RESOURCE_QUOTAS, _revise)


def _revise(changes: Sequence[Change]) -> None:
    if any(_remembered(change.before) != _remembered(change.after) for change in changes):
        feeds.revised(changes[0].kind.plural)


def _remembered(obj: Any) -> object:
    """Give what is remembered of the object. A quota's status counts what is used, and changes with every order."""
    match obj:
        case Namespace():
            return obj.metadata.labels
        case ResourceQuota():
            return obj.metadata.labels, obj.spec
    return None
