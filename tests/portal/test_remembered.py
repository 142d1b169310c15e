"""A row is rendered once for what it shows, and anew for anything else."""

from __future__ import annotations

from datetime import timedelta

from django.template import Context, Template
from django.utils import timezone

ROWS = Template(
    "{% load remembered times %}{% for row in rows %}{% remembered row may row.at|age %}"
    "{{ row.name }}{% if may %}!{% endif %} {{ seen.row }} {% endremembered %}{% endfor %}"
)


class Row:
    """Compares by its name, as the rows of pages compare by all they show."""

    def __init__(self, name: str, *, seconds: int = 0) -> None:
        self.name = name
        self.at = timezone.now() - timedelta(seconds=seconds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class Seen:
    """Counts how often it is shown."""

    shown = 0

    @property
    def row(self) -> int:
        self.shown += 1
        return self.shown


def test_only_rows_that_changed_are_rendered() -> None:
    seen = Seen()

    def page(*rows: Row, may: bool = False) -> str:
        return ROWS.render(Context({"rows": rows, "may": may, "seen": seen})).strip()

    assert page(Row("a"), Row("b")) == "a 1 b 2"
    assert page(Row("a"), Row("<b>"), Row("b")) == "a 1 &lt;b&gt; 3 b 2"
    assert page(Row("a"), may=True) == "a! 4"
    assert page(Row("a", seconds=90)) == "a 5"
    assert page(Row("a", seconds=91)) == "a 5"
