"""The way to the cluster, as the service and as a user."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from kube.errors import Forbidden
from kube.kinds import GPU_CLASSES, NAMESPACES
from portal import cluster
from portal.models import User
from tests.builders import a_class, a_namespace
from tests.portal.processes import Portal

pytestmark = pytest.mark.django_db


@pytest.fixture
def settings_of_the_cluster(portal: Portal, settings: Settings) -> Portal:
    settings.KUBECONFIG = str(portal.server.kubeconfig)
    cluster._gateway_of.cache_clear()
    return portal


def test_calls_for_a_user_are_made_as_the_user(settings_of_the_cluster: Portal, alice: User) -> None:
    settings_of_the_cluster.put(NAMESPACES, a_namespace())
    mine = cluster.gateway()

    assert "tenant-acme" in [item.object.metadata.name for item in mine.list_all(NAMESPACES).items]
    with pytest.raises(Forbidden, match="alice"):
        cluster.gateway_for(alice).create(GPU_CLASSES, a_class())


def test_one_process_has_one_gateway(settings_of_the_cluster: Portal) -> None:
    assert cluster.gateway() is cluster.gateway()


def test_passthrough_says_clearly_that_it_needs_a_token(alice: User, settings: Settings) -> None:
    settings.KUBE_MODE = "passthrough"

    with pytest.raises(ImproperlyConfigured, match="impersonation"):
        cluster.gateway_for(alice)
