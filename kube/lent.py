"""Credentials that somebody else lends for a while: an exec plugin, or an identity provider, which the client library asks.

To ask may fail, and may never end. So one thread asks for all; who needs the answer waits for it, but not for ever.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from kube.credentials import Credentials
from kube.statuses import error_without_answer

logger: Final = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 10.0
"""How long calls wait for an answer, counted from the question. Later ones fail at once, until it comes."""
PAUSE_SECONDS: Final = 1.0
"""Between two questions, however many calls want an answer."""
GIVEN_UP_SECONDS: Final = 60.0
"""A question that is not answered after that is asked anew. The thread of the old one, and its plugin, cannot be ended."""
MARGIN: Final = timedelta(minutes=1)
"""So long before the end of what is lent the next is asked for, and nobody has to wait."""
_LENDER: Final = "who lends the credentials"


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Lent:
    """What was lent. ``until`` is ``None`` where nobody knows: then it is good until the server refuses it."""

    authorization: str | None = field(repr=False)
    until: datetime | None = None


class Loaded(Credentials):
    """What ``ask`` lends, and its last answer: it blocks, and may raise anything. Here, that becomes Unavailable."""

    def __init__(
        self,
        ask: Callable[[], Lent],
        lent: Lent | None = None,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._ask = ask
        self._lent = lent
        self._patience_seconds = patience_seconds
        self._clock = clock
        self._now = now
        self._lock = threading.Lock()
        self._asking: Future[Lent] | None = None
        self._asked_at = 0.0

    def authorization(self) -> str | None:
        lent = self._at_hand()
        if lent is None:
            try:
                lent = self._question().result(self._patience_left())
            except Exception as error:
                raise error_without_answer(error, server=_LENDER) from error
        return lent.authorization

    async def authorization_soon(self) -> str | None:
        lent = self._at_hand()
        if lent is None:
            try:
                question = asyncio.wrap_future(self._question())
                async with asyncio.timeout(self._patience_left()):
                    lent = await question
            except Exception as error:
                raise error_without_answer(error, server=_LENDER) from error
        return lent.authorization

    def reload(self, refused: str | None) -> None:
        with self._lock:
            if self._lent is not None and self._lent.authorization == refused:
                self._lent = None

    def _at_hand(self) -> Lent | None:
        """Give what can be used now, without waiting; ask for the next in time."""
        lent = self._lent
        if lent is None or lent.until is None:
            return lent
        left = lent.until - self._now()
        if left <= MARGIN:
            self._question()
        return lent if left > timedelta(0) else None

    def _question(self) -> Future[Lent]:
        """Give the question that is open or was just answered, or begin one."""
        with self._lock:
            is_open = self._asking is not None and not self._asking.done()
            passed = self._clock() - self._asked_at
            if self._asking is None or passed >= (GIVEN_UP_SECONDS if is_open else PAUSE_SECONDS):
                self._asking, self._asked_at = Future(), self._clock()
                self._asking.set_running_or_notify_cancel()  # who stops waiting must not cancel it for the others
                # A thread that the end of the process does not wait for, as it would for those of a pool.
                threading.Thread(
                    target=self._answer, args=(self._asking,), name="credentials", daemon=True
                ).start()
            return self._asking

    def _patience_left(self) -> float:
        return max(0.0, self._asked_at + self._patience_seconds - self._clock())

    def _answer(self, asking: Future[Lent]) -> None:
        try:
            lent = self._ask()
        except Exception as error:
            logger.warning("No new credentials: %s", error)  # while the old are good nobody else would say so
            asking.set_exception(error)
            return
        with self._lock:
            if asking is self._asking:
                self._lent = lent
        asking.set_result(lent)
