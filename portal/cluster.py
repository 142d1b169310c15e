"""The way to the cluster: as the service itself, or as the person who asks."""

from __future__ import annotations

import os
from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kube import config
from kube.gateway import Gateway
from portal.models import User


def gateway() -> Gateway:
    """Give the service's own gateway: one a process, connected after a fork."""
    return _gateway_of(os.getpid())


@lru_cache(maxsize=1)
def _gateway_of(pid: int) -> Gateway:
    return Gateway.connect(config.load(settings.KUBECONFIG))


def gateway_for(user: User) -> Gateway:
    """Give a gateway that acts as this user: the API server checks the user's own rights."""
    if settings.KUBE_MODE == "passthrough":
        raise ImproperlyConfigured(
            "KUBE_MODE=passthrough needs a sign-in that brings the user's own token, and only local users can sign in so far. "
            "Use KUBE_MODE=impersonation."
        )
    return gateway().as_user(user.get_username(), user.group_names)
