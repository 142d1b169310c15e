"""Units as pictures and numbers."""

from __future__ import annotations

from functools import lru_cache

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from catalog.unit_bar import UnitBar

register = template.Library()


@register.simple_tag
def unit_bar(bar: UnitBar) -> SafeString:
    """Draw the bar; its words are for those who do not see it."""
    return _svg(bar)


@lru_cache(maxsize=1024)
def _svg(bar: UnitBar) -> SafeString:
    rects = "".join(
        f'<rect class="unit-{rect.kind}" x="{rect.x}" y="0.5" width="{rect.width}" height="11" rx="1.5"/>'
        for rect in bar.rects
    )
    return mark_safe(  # noqa: S308  # numbers and our own words
        f'<svg class="unit-bar" role="img" aria-label="{conditional_escape(bar.words)}" width="{bar.width}" '
        f'viewBox="0 0 {bar.width or 1} 12" preserveAspectRatio="none">{rects}</svg>'
    )


@register.filter
def units(number: int | None) -> SafeString:
    """Write a number of units; one that is unknown is never a 0."""
    if number is None:
        return mark_safe('<span class="quiet" title="unknown">?<span class="sr-only"> unknown</span></span>')
    return mark_safe(str(int(number)))  # noqa: S308  # a number
