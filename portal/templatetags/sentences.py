"""The one wording of a refusal, for templates."""

from __future__ import annotations

from django import template

from gpu import sentences
from gpu.fit import Refusal

register = template.Library()


@register.filter
def sentence(refusal: Refusal) -> str:
    """Word the refusal with its numbers."""
    return sentences.sentence(refusal)
