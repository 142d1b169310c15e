"""Who did what, from where: one log line for each thing that changes something.

The request id and the address come with every line from :class:`portal.middleware.RequestIdMiddleware`.
"""

from __future__ import annotations

from typing import Any

import structlog

_log = structlog.get_logger("audit")


def record(action: str, *, username: str, outcome: str = "done", **facts: Any) -> None:
    """Write one line. ``facts`` name what it was done to; never a secret, never a whole body."""
    _log.info("audit", action=action, username=username, outcome=outcome, **facts)
