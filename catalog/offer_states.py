"""What state an offer is in, for a person who looks at the catalog."""

from __future__ import annotations

from enum import Enum
from typing import Final

from portal.pills import Pill

LOW_AT_MOST: Final = 2
NOT_SERVED_WORDS: Final = {
    "NoNodeMatches": "Its node labels match no node.",
    "NoNodeReady": "The nodes that could serve it are not ready, cordoned or closed to VMs.",
    "TaintNotTolerated": "A taint of its nodes is not tolerated.",
    "ResourceNotAdvertised": "The nodes it selects do not advertise its resource.",
}
"""Why nothing is free though nothing is sold, by the reason of the condition Served. For the hoster."""


class OfferState(Enum):
    """The states, in the order in which the catalog shows them."""

    AVAILABLE = Pill("Available", "check", "ok")
    LOW = Pill("Low", "triangle-alert", "low")
    UNKNOWN = Pill("Unknown", "circle-question-mark", "unknown")
    NOT_SERVED = Pill("Not served", "ban", "unknown")
    SOLD_OUT = Pill("Sold out", "x", "out")

    @property
    def pill(self) -> Pill:
        return self.value

    @property
    def rank(self) -> int:
        """0 for what can be ordered, then the unknown, last what cannot."""
        return {OfferState.UNKNOWN: 1, OfferState.NOT_SERVED: 2, OfferState.SOLD_OUT: 2}.get(self, 0)


def state_of(*, free: int | None, is_served: bool | None, is_known: bool) -> OfferState:
    """Name the state. Without numbers to believe it is unknown, which is neither 0 nor sold out."""
    if not is_known or free is None:
        return OfferState.UNKNOWN
    if is_served is False:
        return OfferState.NOT_SERVED
    if free == 0:
        return OfferState.SOLD_OUT
    return OfferState.LOW if free <= LOW_AT_MOST else OfferState.AVAILABLE
