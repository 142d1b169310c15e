"""The tenant tree, read from the labels of namespaces.

Every namespace names all its ancestors in labels ``tenant.cozystack.io/<ancestor>`` (itself among them), in no order. Whose
ancestors are more is deeper, so the nearest ancestor is the deepest. A namespace without such labels stands alone.
"""

from __future__ import annotations

from typing import Final

from gpu.corekinds import Namespace

ANCESTOR_LABEL_PREFIX: Final = "tenant.cozystack.io/"
_ROOT: Final = "tenant-root"


class Tenants:
    """Who is above and below whom. Labels that contradict each other cannot make it loop: nothing is followed twice."""

    def __init__(self) -> None:
        self._above: dict[str, frozenset[str]] = {}
        self._below: dict[str, set[str]] = {}

    def set(self, namespace: Namespace) -> bool:
        """Take the namespace in; say whether the tree changed."""
        name = namespace.metadata.name
        above = frozenset(
            label[len(ANCESTOR_LABEL_PREFIX) :]
            for label in namespace.metadata.labels
            if label.startswith(ANCESTOR_LABEL_PREFIX)
        ) - {name, ""}
        if self._above.get(name) == above:
            return False
        self._replace(name, above)
        return True

    def remove(self, name: str) -> bool:
        if name not in self._above:
            return False
        self._replace(name, frozenset())
        del self._above[name]
        return True

    def ancestors(self, name: str) -> list[str]:
        """Give the namespaces above, the nearest first."""
        return sorted(self._above.get(name, ()), key=lambda above: (-self._depth(above), above))

    def descendants(self, name: str) -> frozenset[str]:
        """Give every known namespace below."""
        return frozenset(self._below.get(name, ()))

    def _replace(self, name: str, above: frozenset[str]) -> None:
        for ancestor in self._above.get(name, frozenset()) - above:
            self._below[ancestor].discard(name)
            if not self._below[ancestor]:
                del self._below[ancestor]
        for ancestor in above:
            self._below.setdefault(ancestor, set()).add(name)
        self._above[name] = above

    def _depth(self, name: str) -> int:
        """Count the ancestors; of a namespace not seen (yet), the dashes of its name, which tell the same."""
        above = self._above.get(name)
        if above is not None:
            return len(above)
        return 0 if name == _ROOT else name.count("-")
