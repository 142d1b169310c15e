"""The names of what the controller keeps in the cluster for itself."""

from __future__ import annotations

from typing import Final

LEASE_NAME: Final = "gpu-portal-controller"
CONFIG_NAME: Final = "gpu-portal"
"""Of the webhook configuration."""
