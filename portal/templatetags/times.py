"""Relative times, with the absolute time beside them. static/js/times.js keeps them counting with the same words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


def words(age: timedelta) -> str:
    """Say how long ago. A time in the future (clocks differ) is "just now"."""
    seconds = int(age.total_seconds())
    if seconds < 5:
        return "just now"
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 86400:
        return f"{seconds // 3600} h"
    return f"{seconds // 86400} d"


@register.filter
def age(at: datetime | None) -> str:
    """Say how long ago this was, and nothing else."""
    return "" if at is None else words(timezone.now() - at)


@register.simple_tag
def ago(at: datetime | None, suffix: str = "") -> SafeString:
    """Show a time as its age, with "ago" behind it where a sentence or a column needs that; the title carries it in full."""
    if at is None:
        return mark_safe("–")
    at = at.astimezone(UTC)
    stamp = f"{at:%Y-%m-%d %H:%M:%S}"
    machine, age = f"{stamp.replace(' ', 'T')}Z", suffixed(words(timezone.now() - at), suffix)
    shown = f'<time datetime="{machine}" title="{stamp} UTC" data-ago="{suffix}">{age}</time>'
    return mark_safe(shown)  # noqa: S308  # digits and our own words


def suffixed(age: str, suffix: str) -> str:
    """Put "ago" behind an age that is a number."""
    return f"{age} {suffix}" if suffix and age != "just now" else age
