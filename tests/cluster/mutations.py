"""Documents nobody would think of: valid specs with one to three random changes, the same ones in every run."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

_SEED: Final = 2407
_VALUES: Final[tuple[Any, ...]] = (
    None, "", "x", "-", "Exists", "NoExecute", "gpu.cozystack.io/x", "a/b", "1Gi", "ä" * 70, "y" * 400, 0, 1, -3, 7.0, 7.5, 2**40, 2**70,
    True, [], {}, [1], {"key": "k"}, {"operator": "Exists"}, [{"key": "k", "value": "v"}], {"devicePlugin": {}},
)  # fmt: skip


def mutations(bases: Sequence[dict[str, Any]], *, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give labels and specs."""
    chance = random.Random(_SEED)  # noqa: S311  # the same documents every time, not secrets
    for number in range(count):
        spec = copy.deepcopy(chance.choice(bases))
        told = [_mutate(spec, chance) for _ in range(chance.choice((1, 1, 2, 3)))]
        yield f"mutation {number}: {'; '.join(told)}", spec


def _mutate(spec: dict[str, Any], chance: random.Random) -> str:
    container, key, path = chance.choice(list(_places(spec, "spec")))
    match chance.choice(("remove", "replace", "replace", "add", "twist")):
        case "remove":
            del container[key]
            return f"{path} removed"
        case "add" if isinstance(container, dict):
            container["extra"] = 1
            return f"{path}: a neighbour added"
        case "twist" if isinstance(container[key], str):
            container[key] = _twisted(container[key], chance)
            return f"{path} = {container[key]!r:.40}"
    container[key] = copy.deepcopy(chance.choice(_VALUES))
    return f"{path} = {container[key]!r:.40}"


def _twisted(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice((" ", "/", "-", ".", "_", "Z", "\n", "é", "=", text)) + text[at:]


def _places(value: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    keys: Any = (
        value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in list(keys):
        below = f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}"
        yield value, key, below
        yield from _places(value[key], below)
