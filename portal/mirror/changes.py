"""Who wants to know what the mirror wrote: plain callables, called in the transaction of the write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import Struct

from kube.kinds import AnyKind


@dataclass(frozen=True, slots=True)
class Change:
    """One object as it was and as it is. ``before`` None: it is new here; ``after`` None: it is gone."""

    kind: AnyKind
    namespace: str
    name: str
    before: Any  # the kind's model
    after: Any  # the kind's model
    at: datetime

    @property
    def current(self) -> Struct:
        """The object as last known."""
        known: Struct = self.after if self.after is not None else self.before
        return known


Callback = Callable[[Sequence[Change]], None]
"""Gets the changes of one transaction: one of an event, hundreds of a first list."""

_callbacks: dict[str, list[Callback]] = {}


def on_change(kind: AnyKind, callback: Callback) -> None:
    """Call it with the changes of the kind. Apps register in ``ready()``; twice is once."""
    callbacks = _callbacks.setdefault(kind.plural, [])
    if callback not in callbacks:
        callbacks.append(callback)


def has_listeners(kind: AnyKind) -> bool:
    return bool(_callbacks.get(kind.plural))


def tell(kind: AnyKind, changes: Sequence[Change]) -> None:
    """Call everyone who registered for the kind. What they raise undoes the write."""
    for callback in _callbacks.get(kind.plural, ()) if changes else ():
        callback(changes)
