"""Long names in narrow places."""

from __future__ import annotations

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def breakable(name: str) -> SafeString:
    """Let a name break after its vendor's part before it breaks anywhere else. Copied text stays the same."""
    return mark_safe(str(conditional_escape(name)).replace("/", "/<wbr>"))  # noqa: S308  # escaped before
