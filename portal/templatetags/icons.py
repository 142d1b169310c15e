"""Icons, and pills: a state is always icon, word and colour together."""

from __future__ import annotations

from functools import lru_cache

import lucide
from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from portal.pills import Pill

register = template.Library()


@lru_cache(maxsize=256)
def _svg(name: str, size: int) -> SafeString:
    drawn: str = lucide._render_icon(name, size, aria_hidden="true", focusable="false")
    return mark_safe(" ".join(drawn.split()).replace("> <", "><"))  # noqa: S308  # the package's own drawing


@register.simple_tag
def icon(name: str, size: int = 16) -> SafeString:
    """Draw an icon. The word beside it speaks: screen readers skip the drawing."""
    return _svg(str(name), size)


@lru_cache(maxsize=256)
def _pill(shown: Pill) -> SafeString:
    return format_html('<span class="pill tone-{}">{}{}</span>', shown.tone, _svg(shown.icon, 13), shown.word)


@register.simple_tag
def pill(shown: Pill) -> SafeString:
    """Show a state."""
    return _pill(shown)
