from __future__ import annotations

import base64
import contextlib
import logging
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from kube import errors
from kube.certificates import Issued, ServerFiles, issue_authority, keep_server_files
from kube.config import ClusterConfig, load, proxy_for
from kube.credentials import Fixed
from kube.kinds import GPU_CLAIMS, NAMESPACES
from tests.kube.scripted import reply, scripted
from tests.kube.verbs import Connect, connect

__all__ = ["connect"]


def kubeconfig(folder: Path, *, user: Mapping[str, Any] | None = None, **cluster: Any) -> Path:
    path = folder / "kubeconfig"
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": "https://127.0.0.1:6443/", **cluster}}],
        "users": [{"name": "me", "user": user or {}}],
    }
    path.write_text(yaml.safe_dump(body))
    return path


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def tls_files(tmp_path: Path, now: datetime) -> ServerFiles:
    return keep_server_files(tmp_path / "tls", ["127.0.0.1"], now=now, authority_name="test")


@pytest.fixture
def tls_server(tls_files: ServerFiles) -> Iterator[ThreadingHTTPServer]:
    """An HTTPS server that asks for a client certificate, takes none for an answer, and tells in a label who came."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            peer = self.connection.getpeercert() or {}
            who = dict(pair for rdn in peer.get("subject", ()) for pair in rdn).get("commonName", "nobody")
            answer = reply(
                {
                    "metadata": {
                        "name": "a",
                        "labels": {"certificate": who, "token": self.headers.get("Authorization", "")},
                    }
                }
            )
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls_files.certificate, tls_files.key)
    context.load_verify_locations(tls_files.ca)
    context.verify_mode = ssl.CERT_OPTIONAL
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def client_certificate(tls_files: ServerFiles, now: datetime) -> Issued:
    """Make the certificate that a service shows of itself; the product only makes those of servers."""
    authority = x509.load_pem_x509_certificate(tls_files.ca.read_bytes())
    signing_key = load_pem_private_key((tls_files.ca.parent / "ca.key").read_bytes(), password=None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "portal-service")]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .sign(signing_key, hashes.SHA256())
    )
    return Issued(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def test_a_kubeconfig_gives_server_trust_and_token(tmp_path: Path, tls_files: ServerFiles) -> None:
    data = base64.b64encode(tls_files.ca_bundle).decode()
    path = kubeconfig(tmp_path, user={"token": "secret-token"}, **{"certificate-authority-data": data})

    config = load(path)

    assert config.server == "https://127.0.0.1:6443"
    assert config.ca == tls_files.ca_bundle.decode()
    assert config.credentials.authorization() == "Bearer secret-token"
    assert "secret-token" not in repr(config)


def test_the_environment_names_the_kubeconfig(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path)

    assert load(environ={"KUBECONFIG": str(path)}).server == "https://127.0.0.1:6443"


def test_paths_in_a_kubeconfig_start_at_its_folder(tmp_path: Path, tls_files: ServerFiles) -> None:
    (tmp_path / "token").write_text("from-file\n")
    path = kubeconfig(tmp_path, user={"tokenFile": "token"}, **{"certificate-authority": "tls/ca.crt"})

    config = load(path)

    assert config.ca == tls_files.ca_bundle.decode()
    assert config.credentials.authorization() == "Bearer from-file"
    (tmp_path / "token").write_text("newer")
    assert config.credentials.authorization() == "Bearer newer"


def test_an_exec_plugin_is_run_and_run_again_on_reload(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(
        '#!/bin/sh\nn=$(cat "$0.count" 2>/dev/null || echo 0); echo $((n+1)) > "$0.count"\n'
        'echo "{\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"kind\\":\\"ExecCredential\\",'
        '\\"status\\":{\\"token\\":\\"run-$n\\"}}"\n'
    )
    plugin.chmod(0o755)
    exec_user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(plugin),
            "interactiveMode": "Never",
        }
    }

    credentials = load(kubeconfig(tmp_path, user=exec_user)).credentials

    assert credentials.authorization() == "Bearer run-0"
    credentials.reload()
    assert credentials.authorization() == "Bearer run-1"


def test_a_pod_uses_its_service_account(tmp_path: Path, tls_files: ServerFiles) -> None:
    (tmp_path / "token").write_text("first")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}

    config = load(environ=environ, token_file=str(tmp_path / "token"), ca_file=str(tls_files.ca))

    assert config.server == "https://[fd00::1]:443"
    assert config.ca == tls_files.ca_bundle.decode()
    assert config.credentials.authorization() == "Bearer first"
    (tmp_path / "token").unlink()
    with pytest.raises(errors.Misconfigured, match="cannot be read"):
        config.credentials.authorization()


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", "x: [", "\0", "apiVersion: v1\nkind: Config\n", "current-context: gone\ncontexts: []\nclusters: []\n"],
)  # fmt: skip
def test_a_kubeconfig_that_is_none_is_a_clear_error(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)

    with pytest.raises(errors.Misconfigured):
        load(path)


def test_a_kubeconfig_without_a_server_or_with_missing_files_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(errors.Misconfigured, match="server"):
        load(kubeconfig(tmp_path, server=""))
    with pytest.raises(errors.Misconfigured, match=r"gone\.crt"):
        load(kubeconfig(tmp_path, user={}, **{"certificate-authority": "gone.crt"}))


def test_without_any_configuration_no_cluster_is_found_by_accident(tmp_path: Path) -> None:
    with pytest.raises(errors.Misconfigured, match="set KUBECONFIG"):
        load(environ={"HOME": str(tmp_path)})


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


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        ("https://10.96.0.1:443", {"https": "http://proxy:3128", "no": "10.96.0.0/12,.svc,localhost"}, None),
        ("https://10.128.0.1:443", {"https": "http://proxy:3128", "no": "10.96.0.0/12"}, "http://proxy:3128"),
        ("https://api.example:6443", {"https": "http://proxy:3128"}, "http://proxy:3128"),
        ("https://kubernetes.default.svc", {"https": "http://proxy:3128", "no": ".svc"}, None),
        ("https://kubernetes.default.svc", {"https": "http://proxy:3128", "no": "svc"}, None),
        ("https://api.example:6443", {"https": "http://proxy:3128", "no": "*"}, None),
        ("https://api.example:6443", {"http": "http://proxy:3128"}, None),
        ("https://api.example:6443", {"all": "http://proxy:3128"}, "http://proxy:3128"),
        ("https://[fd00::1]:443", {"https": "http://proxy:3128", "no": "fd00::/8"}, None),
        ("https://127.0.0.1:6443", {"https": "http://proxy:3128"}, None),
        ("https://localhost:6443", {"https": "http://proxy:3128"}, None),
        ("https://[::1]:6443", {"https": "http://proxy:3128"}, None),
        ("https://notlocalhost:6443", {"https": "http://proxy:3128"}, "http://proxy:3128"),
    ],
)
def test_the_proxy_is_chosen_as_kubectl_chooses_it(
    server: str, environment: dict[str, str], proxy: str | None
) -> None:
    assert proxy_for(server, environment) == proxy


@pytest.mark.parametrize("spell", [str.upper, str.lower])
def test_proxy_variables_are_read_in_either_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spell: Any
) -> None:
    for name in ("HTTPS_PROXY", "NO_PROXY", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(spell("https_proxy"), "http://user:pass@proxy:3128")
    monkeypatch.setenv(spell("no_proxy"), "10.96.0.0/12")

    through = load(kubeconfig(tmp_path, server="https://api.example:6443"))
    direct = load(kubeconfig(tmp_path, server="https://10.96.0.1:443"))

    assert through.route == "https://api.example:6443 through the proxy http://proxy:3128"
    assert "pass" not in repr(through)
    assert direct.route == "https://10.96.0.1:443 directly"


def test_a_kubeconfigs_own_proxy_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")

    config = load(kubeconfig(tmp_path, user={}, **{"proxy-url": "http://own:3128"}))

    assert config.route == "https://127.0.0.1:6443 through the proxy http://own:3128"


@pytest.fixture
def tunnel() -> Iterator[tuple[str, list[bytes]]]:
    """A proxy for HTTPS: gives its address and the heads of the requests it was sent."""
    heads: list[bytes] = []

    class Tunnel(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += self.rfile.readline()
            heads.append(head)
            host, port = head.split()[1].decode().split(":")
            with socket.create_connection((host, int(port))) as onward:
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=self.relay, args=(onward, self.connection))
                back.start()
                self.relay(self.connection, onward)
                back.join()

        @staticmethod
        def relay(source: socket.socket, target: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tunnel) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://user:pass@127.0.0.1:{server.server_address[1]}", heads
        server.shutdown()
        thread.join()


def test_requests_really_go_through_the_proxy_and_the_start_says_so(
    connect: Connect,
    caplog: pytest.LogCaptureFixture,
    tls_files: ServerFiles,
    tls_server: ThreadingHTTPServer,
    tunnel: tuple[str, list[bytes]],
) -> None:
    proxy, heads = tunnel
    address = f"127.0.0.1:{tls_server.server_port}"
    config = ClusterConfig(
        server=f"https://{address}",
        ca=tls_files.ca_bundle.decode(),
        proxy=proxy,
        credentials=Fixed("Bearer service"),
    )

    with caplog.at_level(logging.INFO):
        read = connect(config).get(NAMESPACES, "a")

    assert read.object.metadata.labels["token"] == "Bearer service"
    (head,) = heads
    assert head.startswith(f"CONNECT {address} ".encode())
    assert b"Basic " + base64.b64encode(b"user:pass") in head
    assert b"service" not in head
    assert f"{address} through the proxy http://127.0.0.1" in caplog.text
    assert "user:pass" not in caplog.text


@pytest.mark.parametrize(
    ("server", "proxy"),
    [("http://api.example", "http://proxy:3128"), ("https://api.example", "socks5://proxy:1080")],
)
def test_a_proxy_that_cannot_be_used_safely_is_refused_at_start(server: str, proxy: str) -> None:
    with pytest.raises(errors.Misconfigured):
        ClusterConfig(server=server, proxy=proxy)


def test_a_path_in_the_servers_address_is_kept(connect: Connect) -> None:
    with scripted(
        lambda request: [reply({"metadata": {"name": "a"}, "spec": {"className": "l40s"}})]
    ) as server:
        connect(f"{server.url}/k8s/clusters/c-1").get(GPU_CLAIMS, "a", namespace="t")

    assert server.requests[0].path == (
        "/k8s/clusters/c-1/apis/gpu.cozystack.io/v1alpha1/namespaces/t/gpuclaims/a"
    )
