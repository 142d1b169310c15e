"""The order forms that a session has sent: one sent again, from the back button or a second tab, is the same order."""

from __future__ import annotations

from typing import Final

from django.contrib.sessions.backends.base import SessionBase

from claims.orders import OrderSpec

_SESSION_KEY: Final = "sent_orders"
_REMEMBERED: Final = 20


def remember_sent(session: SessionBase, spec: OrderSpec, *, name: str) -> None:
    """Remember that the form with this order's key was sent, and the name of the claim it made."""
    sent = session.get(_SESSION_KEY, [])
    session[_SESSION_KEY] = [*sent, [*_what(spec), name]][-_REMEMBERED:]


def sent_before(session: SessionBase, spec: OrderSpec) -> str | None:
    """Give the name of the claim that this form has made already.

    The name in the form does not count: browsers forget what was typed there. Another offer, count or set is another order.
    """
    for *what, name in session.get(_SESSION_KEY, []):
        if what == _what(spec):
            return str(name)
    return None


def _what(spec: OrderSpec) -> list[str | int | None]:
    return [spec.order_key, spec.namespace, spec.class_name, spec.count, spec.set_name or None]
