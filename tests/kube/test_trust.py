from __future__ import annotations

from datetime import datetime
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from kube import errors
from kube.certificates import ServerFiles, issue_authority
from kube.config import ClusterConfig, load
from kube.kinds import NAMESPACES
from tests.kube.tls import client_certificate, kubeconfig, now, tls_files, tls_server
from tests.kube.verbs import Connect, connect

__all__ = ["connect", "now", "tls_files", "tls_server"]


def test_the_server_is_trusted_through_the_given_authority_alone(
    connect: Connect, tls_files: ServerFiles, tls_server: ThreadingHTTPServer, now: datetime
) -> None:
    url = f"https://127.0.0.1:{tls_server.server_port}"
    other = issue_authority("test", now=now).certificate.decode()

    assert connect(ClusterConfig(server=url, ca=tls_files.ca_bundle.decode())).get(NAMESPACES, "a")
    assert connect(ClusterConfig(server=url, is_verified=False)).get(NAMESPACES, "a")
    assert (
        ClusterConfig(server=url, is_verified=False).route
        == f"{url} directly, without verifying its certificate"
    )
    for ca in (other, None):
        with pytest.raises(errors.Unavailable, match=r"(?i)certificate verify failed"):
            connect(ClusterConfig(server=url, ca=ca)).get(NAMESPACES, "a")


def test_a_server_reached_by_another_name_is_trusted_by_the_name_it_is_told(
    connect: Connect, tls_files: ServerFiles, tls_server: ThreadingHTTPServer
) -> None:
    url = f"https://localhost:{tls_server.server_port}"
    ca = tls_files.ca_bundle.decode()

    with pytest.raises(errors.Unavailable, match="certificate"):
        connect(ClusterConfig(server=url, ca=ca)).get(NAMESPACES, "a")
    assert connect(ClusterConfig(server=url, ca=ca, tls_server_name="127.0.0.1")).get(NAMESPACES, "a")


def test_a_users_own_token_never_travels_with_the_services_certificate(
    connect: Connect, tmp_path: Path, tls_files: ServerFiles, tls_server: ThreadingHTTPServer, now: datetime
) -> None:
    issued = client_certificate(tls_files, now)
    (tmp_path / "me.crt").write_bytes(issued.certificate)
    (tmp_path / "me.key").write_bytes(issued.key)
    path = kubeconfig(
        tmp_path,
        user={"client-certificate": "me.crt", "client-key": "me.key"},
        **{"certificate-authority": "tls/ca.crt", "server": f"https://127.0.0.1:{tls_server.server_port}"},
    )
    service = connect(load(path))

    itself = service.get(NAMESPACES, "a").object.metadata.labels
    alice = service.with_token("alices-own").get(NAMESPACES, "a").object.metadata.labels

    assert itself == {"certificate": "portal-service", "token": ""}
    assert alice == {"certificate": "nobody", "token": "Bearer alices-own"}
