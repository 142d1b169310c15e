"""Names of extended resources: one plain sentence per fault, and what looks odd though it is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from gpu.resources import GROUP, RESOURCE_NAME, matches

MOST: Final = 63
_NOT_GPUS: Final = frozenset({"kvm", "tun", "vhost-net", "sev", "vsock"})


def resource_fault(text: str) -> str:
    """Say what is wrong with the name; "" when nothing is. Case is never changed: it matters."""
    if any(character.isspace() for character in text):
        return "A resource is written vendor/name without spaces, such as nvidia.com/AD102GL_L40S."
    if "/" not in text:
        return "The vendor's part is missing: write it as in nvidia.com/gpu."
    if text.count("/") > 1:
        return "Only one “/” is allowed, between the vendor and the name."
    vendor, _, name = text.partition("/")
    return _vendor_fault(vendor) or _name_fault(name) or _rest(text)


def resource_warning(text: str, advertised: Iterable[str]) -> str:
    """Say what looks odd about a name that is allowed; "" when nothing does."""
    names = set(advertised)
    if text.partition("/")[2] in _NOT_GPUS:
        return "This is probably not a GPU resource."
    if text in names:
        return ""
    closest = closest_resource(text, names)
    hint = f" The closest that is: {closest}." if closest else ""
    return f"No node advertises this resource, so nothing of the offer is free.{hint}"


def closest_resource(text: str, advertised: Iterable[str]) -> str:
    """Give the advertised name that was probably meant; "" when none is close, or it is meant as it stands."""
    names = sorted(set(advertised))
    if text in names or text.partition("/")[2] in _NOT_GPUS:
        return ""
    by_letters = {name.lower(): name for name in names}
    close = difflib.get_close_matches(text.lower(), by_letters, n=1, cutoff=0.85)
    return by_letters[close[0]] if close else ""


def _vendor_fault(vendor: str) -> str:
    if not vendor:
        return "The vendor's part in front of “/” is missing, as in nvidia.com/gpu."
    if vendor != vendor.lower():
        return f"The vendor's part is written in lower case: {vendor.lower()}."
    return ""


def _name_fault(name: str) -> str:
    if not name:
        return "The name after “/” is missing, as in nvidia.com/gpu."
    if len(name) > MOST:
        return f"The name after “/” is too long: {len(name)} of {MOST} characters."
    return ""


def _rest(text: str) -> str:
    if text.startswith(f"{GROUP}/"):
        return f"Names in {GROUP} are GPU budgets, not resources."
    if matches(RESOURCE_NAME, text) and len(text) <= 317:
        return ""
    return "Use letters, digits, “-”, “_” and “.”, and begin and end both parts with a letter or digit."
