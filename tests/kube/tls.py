"""A server with TLS, what it takes to trust it, and a proxy in front of it."""

from __future__ import annotations

import contextlib
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

from kube.certificates import Issued, ServerFiles, keep_server_files
from tests.kube.scripted import reply


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
