"""The one sort of quota that is enforced here: ``count/<plural>.<group>``, which counts objects, deleted but held ones too.

A real cluster enforces it after the webhooks, from the quota's status; here the limit in its spec counts at once.
"""

from __future__ import annotations

from typing import Final

from kube.devserver.served import Served
from kube.devserver.state import State
from kube.devserver.status import forbidden, qualified

_QUOTAS: Final = "/resourcequotas"


def check_quotas(state: State, served: Served, namespace: str, name: str) -> None:
    """Refuse one more object where a quota of the namespace does not leave room. Raise 403."""
    if not served.namespaced:
        return
    key = f"count/{qualified(served.group, served.plural)}"
    for record in state.store.collection(_QUOTAS).within(namespace):
        limit = ((record.object.get("spec") or {}).get("hard") or {}).get(key)
        if limit is None or not str(limit).isdecimal():
            continue
        used = sum(1 for _ in state.store.collection(served.collection).within(namespace))
        if used + 1 > int(limit):
            why = f"exceeded quota: {record.key[1]}, requested: {key}=1, used: {key}={used}, limited: {key}={limit}"
            raise forbidden(served.group, served.plural, name, why)
