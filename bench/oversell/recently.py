"""What somebody may have seen who looked a moment ago."""

from __future__ import annotations

from collections import defaultdict

from bench.oversell.facts import ClassFacts, NodeFacts
from bench.oversell.model import Model, Pool
from bench.oversell.past import Past


class Recently:
    """Nodes, offers and limits, with what they were a moment ago. ``node_changed_at`` is for ever ago where nothing changed."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._units: Past[tuple[str, str], int] = Past()
        self._classes: Past[str, ClassFacts] = Past()
        self._limits: Past[tuple[str, str], int] = Past()
        self.node_changed_at: defaultdict[str, float] = defaultdict(lambda: float("-inf"))

    def node_changes(self, old: NodeFacts | None, name: str, *, at: float) -> None:
        """Remember a node as it was."""
        self.node_changed_at[name] = at
        for resource, units in (old.allocatable if old is not None else {}).items():
            self._units.keep((name, resource), units, at=at)

    def class_changes(self, old: ClassFacts, *, at: float) -> None:
        """Remember an offer as it was."""
        self._classes.keep(old.name, old, at=at)

    def limit_changes(self, pool: Pool, *, at: float) -> None:
        """Remember a pool's limit as it was."""
        self._limits.keep((pool.owner, pool.subject), pool.limit, at=at)

    def units(self, node: str, resource: str, *, at: float, since: float) -> int:
        """Give the most that the node had of the resource since then."""
        known = self._model.nodes.get(node)
        now = known.allocatable.get(resource, 0) if known is not None else 0
        return max([now, *self._units.recent((node, resource), at=at, since=since)])

    def limit(self, pool: Pool, *, at: float, since: float) -> int:
        """Give the highest limit since then."""
        return max([pool.limit, *self._limits.recent((pool.owner, pool.subject), at=at, since=since)])

    def classes(self, name: str, *, at: float, since: float) -> list[ClassFacts]:
        """Give what the offer was since then; nothing when there was none of the name."""
        now = self._model.classes.get(name)
        before = self._classes.recent(name, at=at, since=since)
        return before if now is None else [now, *before]

    def serves(self, found: ClassFacts, node: str, *, since: float) -> bool:
        """Say whether the node may have served the class since then: it does, or was changed."""
        known = self._model.nodes.get(node)
        return self.node_changed_at[node] >= since or (known is not None and found.is_served_by(known))
