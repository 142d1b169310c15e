"""Pages as a person reads them, and the offers that fill them."""

from __future__ import annotations

import re
from html import unescape

from django.test import Client

from gpu.resources import Condition, ConditionStatus, GPUClass, GPUClassStatus
from tests.builders import NOON, a_class


def offer(
    name: str, *, free: int | None, most: int | None = None, served: bool = True, **more: object
) -> GPUClass:
    made = a_class(name, **more)  # type: ignore[arg-type]  # the builder's own keywords
    served_condition = Condition(
        type="Served",
        status=ConditionStatus.TRUE if served else ConditionStatus.FALSE,
        reason="Served" if served else "NoNodeReady",
        message="",
        last_transition_time=NOON,
    )
    made.status = GPUClassStatus(
        free=free, max_free_per_node=free if most is None else most, conditions=[served_condition]
    )
    return made


def text_of(client: Client, path: str = "/", **headers: str) -> str:
    """The page in words, without tags."""
    response = client.get(path, headers=headers)
    assert response.status_code == 200, response.content
    return words(response.content.decode())


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
