"""Rows that have not changed are not rendered again: a page refetches its whole table when one row of it changes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.context import Context
from django.utils.safestring import SafeString

register = template.Library()

_MOST: Final = 4096
"""Rows of one table, of about 2 KiB each, in every web process."""


class RememberedNode(template.Node):
    def __init__(self, values: list[FilterExpression], nodelist: NodeList) -> None:
        self.values = values
        self.nodelist = nodelist
        self.rendered: dict[tuple[Hashable, ...], SafeString] = {}

    def render(self, context: Context) -> SafeString:
        key = tuple(value.resolve(context) for value in self.values)
        found = self.rendered.get(key)
        if found is None:
            found = self.nodelist.render(context)
            if len(self.rendered) >= _MOST:
                self.rendered.clear()
            self.rendered[key] = found
        return found


@register.tag
def remembered(parser: Parser, token: Token) -> RememberedNode:
    """Render the block once for the same values: ``{% remembered row can_order row.since|age %}``.

    The values must be hashable and compare by content, and all that the block shows must follow from them.
    """
    _, *words = token.split_contents()
    nodelist = parser.parse(("endremembered",))
    parser.delete_first_token()
    return RememberedNode([parser.compile_filter(word) for word in words], nodelist)
