"""The jsonPath of printer columns and selectable fields: members, indexes and ``[?(@.type=='Bound')]``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

Step = Callable[[Any], list[Any]]

_TOKEN: Final = re.compile(
    r"""\.(?P<member>(?:[\w-]|\\.)+)
      | \[\?\(@\.(?P<field>[\w.\-\\]+)\s*==\s*(?P<quote>["'])(?P<want>.*?)(?P=quote)\)\]
      | \[(?P<index>-?\d+|\*)\]
      | \[(?P<q2>["'])(?P<quoted>.*?)(?P=q2)\]""",
    re.VERBOSE,
)


def _member(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _index(text: str) -> Step:
    if text == "*":
        return lambda value: (
            list(value)
            if isinstance(value, list)
            else list(value.values())
            if isinstance(value, dict)
            else []
        )
    position = int(text)
    return lambda value: (
        [value[position]] if isinstance(value, list) and -len(value) <= position < len(value) else []
    )


def _where(path: str, want: str) -> Step:
    find = compiled(f".{path}")
    return lambda value: [item for item in value if want in find(item)] if isinstance(value, list) else []


@lru_cache(maxsize=512)
def compiled(path: str) -> Callable[[Any], list[Any]]:
    """Turn a path into a function from an object to what the path names there. Raise ValueError on other syntax."""
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    if not text.startswith((".", "[")):
        text = f".{text}"
    steps: list[Step] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError(f"jsonPath {path!r} is not understood at {text[position:]!r}")
        if token["member"] is not None:
            steps.append(_member(re.sub(r"\\(.)", r"\1", token["member"])))
        elif token["field"] is not None:
            steps.append(_where(token["field"], token["want"]))
        elif token["index"] is not None:
            steps.append(_index(token["index"]))
        else:
            steps.append(_member(token["quoted"]))
        position = token.end()

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [result for item in found for result in step(item)]
        return found

    return find


def first(path: str, value: Any) -> Any:
    """Give what the path names first, or None."""
    found = compiled(path)(value)
    return found[0] if found else None
