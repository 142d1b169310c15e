"""Typed reading of the environment. A value that cannot be read stops the start, naming the variable."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def flag(name: str, *, default: bool = False) -> bool:
    """Read a yes or no. Raise ImproperlyConfigured for anything else."""
    value = os.environ.get(name)
    if value is None:
        return default
    word = value.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}")


def seconds(name: str, default: float) -> float:
    """Read a duration above zero."""
    value = os.environ.get(name)
    if value is None or not value.strip():
        return default
    try:
        number = float(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a number of seconds, not {value!r}") from error
    if not 0 < number < float("inf"):
        raise ImproperlyConfigured(f"{name} must be more than 0 seconds, not {value!r}")
    return number


def whole(name: str, default: int) -> int:
    """Read a whole number from 0 up."""
    value = os.environ.get(name)
    if value is None or not value.strip():
        return default
    if not value.strip().isascii() or not value.strip().isdigit():
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}")
    return int(value)


def words(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Read a comma-separated list."""
    value = os.environ.get(name)
    if value is None:
        return list(default)
    return [word for word in (part.strip() for part in value.split(",")) if word]


def choice(name: str, default: str, *, among: tuple[str, ...]) -> str:
    value = os.environ.get(name, default)
    if value not in among:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(among)}, not {value!r}")
    return value


def secret(name: str) -> str:
    """Read NAME, or the file that NAME_FILE points to, as mounted secrets are. Empty when neither is set."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE names a file that cannot be read: {path}") from error
    return os.environ.get(name, "")
