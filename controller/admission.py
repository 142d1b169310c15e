"""Door two of three: the final word on an order, given from the ledger.

Answers are synchronous from check to charge, so no second order can come in between. Whoever does not know says so: a follower, a
leader whose ledger is not complete or not fresh, and a new leader for one webhook time-out, while orders its predecessor admitted
may still be on their way to storage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec
import structlog

from controller import reviews
from controller.class_edits import UNKNOWN_HARM, harm_sentence
from controller.metrics import ADMISSION_SECONDS, ORDERS
from gpu.fit import Order, Reason, Refusal
from gpu.health import Harm
from gpu.resources import GPUClass

log = structlog.get_logger(__name__)

CLASS_IN_USE: Final = "ClassInUse"


class Judge(Protocol):
    """What a term of leadership offers to admission."""

    def unknown_for(self) -> int | None:
        """Seconds since the picture was last complete (0: never was), or None when it is complete now."""

    def judge(self, uid: str, order: Order, *, dry_run: bool) -> Sequence[Refusal]:
        """Check the order and, unless it is a dry run, charge it under the uid. Nothing returned: admitted."""

    def claims_of(self, class_name: str) -> int:
        """How many claims name the class, those that were admitted and are not stored yet included."""

    def harm_of_edit(self, edited: GPUClass) -> Harm:
        """How many claims the class would leave unhealthy if it were edited to this."""


class AdmissionDesk:
    """Turns reviews into answers. ``judge`` is set while this process leads."""

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self.judge: Judge | None = None
        self._clock = clock

    @property
    def is_open(self) -> bool:
        """True when an order would be judged now."""
        return self.judge is not None and self.judge.unknown_for() is None

    def review_claim(self, body: bytes) -> bytes:
        """Answer the review of a GPUClaim. Raises msgspec.DecodeError when the body is no review."""
        started_at = self._clock()
        request = reviews.read_review(body)
        if request.operation != "CREATE":
            return reviews.allow(request.uid)
        try:
            claim = reviews.read_claim(request)
        except msgspec.DecodeError as error:
            # The CRD's schema was checked before us: the schema installed is not the one this program knows.
            return reviews.deny(
                request.uid,
                code=reviews.UNPROCESSABLE,
                reason="Invalid",
                message=f"The claim cannot be read: {error}",
            )
        refusals = self._judge(
            claim.metadata.uid or request.uid, reviews.order_of(claim, request.namespace), request.dry_run
        )
        answer = reviews.deny_order(request.uid, refusals) if refusals else reviews.allow(request.uid)
        ADMISSION_SECONDS.observe(self._clock() - started_at)
        ORDERS.labels(
            str(refusals[0].reason) if refusals else "Dry run" if request.dry_run else "Admitted"
        ).inc()
        return answer

    def review_class(self, body: bytes) -> bytes:
        """Answer the review of a GPUClass: an edit is admitted and warned about, a class that claims still name is not deleted."""
        request = reviews.read_review(body)
        if request.operation == "UPDATE":
            return reviews.allow(request.uid, *self._warnings_about(request))
        if request.operation != "DELETE":
            return reviews.allow(request.uid)
        if self.judge is None or self.judge.unknown_for() is not None:
            return reviews.deny_order(request.uid, (self._unknown(),))
        claims = self.judge.claims_of(request.name)
        if not claims:
            return reviews.allow(request.uid)
        noun = "claim uses" if claims == 1 else "claims use"
        cause = {
            "reason": CLASS_IN_USE,
            "field": "metadata.name",
            "message": msgspec.json.encode({"claims": claims}).decode(),
        }
        return reviews.deny(
            request.uid,
            code=reviews.CONFLICT,
            reason=CLASS_IN_USE,
            message=f"{claims} {noun} {request.name}; it can be deleted when they are released.",
            details={"causes": [cause]},
        )

    def _warnings_about(self, request: reviews.AdmissionRequest) -> tuple[str, ...]:
        """An edit must be possible at any time, so whoever does not know says that, and admits."""
        if self.judge is None or self.judge.unknown_for() is not None:
            return (UNKNOWN_HARM,)
        try:
            harm = self.judge.harm_of_edit(reviews.read_class(request))
        except msgspec.DecodeError as error:
            log.warning("an edited class cannot be read", name=request.name, error=str(error))
            return (UNKNOWN_HARM,)
        return (harm_sentence(harm),) if harm else ()

    def _judge(self, uid: str, order: Order, dry_run: bool) -> Sequence[Refusal]:
        if self.judge is None or self.judge.unknown_for() is not None:
            return (self._unknown(),)
        return self.judge.judge(uid, order, dry_run=dry_run)

    def _unknown(self) -> Refusal:
        age = self.judge.unknown_for() if self.judge is not None else None
        return Refusal(reason=Reason.CAPACITY_UNKNOWN, numbers={"age": age} if age else {})
