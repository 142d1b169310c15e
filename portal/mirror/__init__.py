"""The one writer of the mirror's tables, for the watching process, for Celery's full sync and for writes of our own.

- :func:`apply` and :func:`delete` take one object each: an event of a watch, or the answer to a write.
- :func:`replace_all` takes a whole list.
- :func:`on_change` hands every change that was really written to whoever derives something from it.

What all of them promise: older state never replaces newer, whoever is late; an unchanged world writes nothing; everything can be
repeated. Nobody else writes records.
"""

from __future__ import annotations

from portal.freshness import Freshness, freshness
from portal.mirror.changes import Change, on_change
from portal.mirror.listing import replace_all
from portal.mirror.writing import apply, delete

__all__ = ["Change", "Freshness", "apply", "delete", "freshness", "on_change", "replace_all"]
