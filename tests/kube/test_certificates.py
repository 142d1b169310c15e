from __future__ import annotations

import socket
import ssl
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from kube.certificates import (
    Issued,
    covers,
    is_due_for_renewal,
    is_signed_by,
    issue_authority,
    issue_server,
    keep_server_files,
)

NAMES = ["localhost", "gpu-portal.gpu-portal-system.svc", "127.0.0.1", "::1"]


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC)


def shake_hands(authority: bytes, server: Issued, folder: Path, *, reached_as: str) -> str:
    """Do a real TLS handshake over loopback; give the protocol spoken."""
    (folder / "server.crt").write_bytes(server.certificate)
    (folder / "server.key").write_bytes(server.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "server.crt", folder / "server.key")
    trusting = ssl.create_default_context(cadata=authority.decode())
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            try:
                with serving.wrap_socket(connection, server_side=True) as served:
                    served.recv(1)
            except ssl.SSLError:
                connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with (
                socket.create_connection(listener.getsockname(), timeout=5) as plain,
                trusting.wrap_socket(plain, server_hostname=reached_as) as secure,
            ):
                secure.send(b"x")
                return secure.version() or ""
        finally:
            thread.join(5)


@pytest.mark.parametrize("name", NAMES)
def test_a_strict_client_that_trusts_the_authority_accepts_the_server_by_each_name(
    now: datetime, tmp_path: Path, name: str
) -> None:
    authority = issue_authority("gpu-portal", now=now)

    server = issue_server(authority, NAMES, now=now)

    assert shake_hands(authority.certificate, server, tmp_path, reached_as=name) == "TLSv1.3"


def test_a_client_refuses_a_name_that_the_certificate_does_not_list(now: datetime, tmp_path: Path) -> None:
    authority = issue_authority("gpu-portal", now=now)
    server = issue_server(authority, ["localhost"], now=now)

    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for"):
        shake_hands(authority.certificate, server, tmp_path, reached_as="elsewhere.example")


def test_a_client_of_another_authority_of_the_same_name_refuses(now: datetime, tmp_path: Path) -> None:
    server = issue_server(issue_authority("gpu-portal", now=now), ["localhost"], now=now)
    other = issue_authority("gpu-portal", now=now)

    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(other.certificate, server, tmp_path, reached_as="localhost")
    assert not is_signed_by(server.certificate, other.certificate)


def test_a_certificate_is_due_for_renewal_after_two_thirds_of_its_life(now: datetime) -> None:
    authority = issue_authority("gpu-portal", now=now, lifetime=timedelta(days=30))

    assert not is_due_for_renewal(authority.certificate, now=now)
    assert not is_due_for_renewal(authority.certificate, now=now + timedelta(days=19))
    assert is_due_for_renewal(authority.certificate, now=now + timedelta(days=21))
    assert is_due_for_renewal(authority.certificate, now=now + timedelta(days=31))


def test_a_certificate_of_the_future_cannot_be_used_and_is_due(now: datetime) -> None:
    authority = issue_authority("gpu-portal", now=now + timedelta(days=1))

    assert is_due_for_renewal(authority.certificate, now=now)


def test_a_server_certificate_never_outlives_its_authority(now: datetime) -> None:
    authority = issue_authority("gpu-portal", now=now, lifetime=timedelta(days=10))

    server = issue_server(authority, ["localhost"], now=now, lifetime=timedelta(days=100))

    ends = [
        x509.load_pem_x509_certificate(one.certificate).not_valid_after_utc for one in (server, authority)
    ]
    assert ends[0] == ends[1]


def test_a_long_service_name_stays_whole_in_the_names_a_client_checks(now: datetime) -> None:
    name = f"{'a' * 60}.{'b' * 60}.svc"

    server = issue_server(issue_authority("gpu-portal", now=now), [name], now=now)

    assert covers(server.certificate, [name])


def test_a_server_certificate_without_a_name_is_a_mistake_of_the_caller(now: datetime) -> None:
    with pytest.raises(ValueError, match="at least one name"):
        issue_server(issue_authority("gpu-portal", now=now), [], now=now)


def test_kept_files_are_used_again_as_long_as_they_are_good(now: datetime, tmp_path: Path) -> None:
    first = keep_server_files(tmp_path / "tls", ["localhost"], now=now, authority_name="gpu-portal")
    before = {path.name: path.read_bytes() for path in (tmp_path / "tls").iterdir()}

    again = keep_server_files(tmp_path / "tls", ["localhost"], now=now, authority_name="gpu-portal")

    assert again == first
    assert {path.name: path.read_bytes() for path in (tmp_path / "tls").iterdir()} == before


def test_a_due_server_certificate_is_renewed_under_the_same_authority(now: datetime, tmp_path: Path) -> None:
    files = keep_server_files(tmp_path, ["localhost"], now=now, authority_name="gpu-portal")
    authority, old = files.ca_bundle, files.certificate.read_bytes()

    keep_server_files(tmp_path, ["localhost"], now=now + timedelta(days=300), authority_name="gpu-portal")

    assert files.ca_bundle == authority
    assert files.certificate.read_bytes() != old
    assert is_signed_by(files.certificate.read_bytes(), authority)


def test_a_due_authority_takes_its_server_certificate_with_it(now: datetime, tmp_path: Path) -> None:
    files = keep_server_files(tmp_path, ["localhost"], now=now, authority_name="gpu-portal")
    authority = files.ca_bundle

    keep_server_files(tmp_path, ["localhost"], now=now + timedelta(days=3000), authority_name="gpu-portal")

    assert files.ca_bundle != authority
    assert is_signed_by(files.certificate.read_bytes(), files.ca_bundle)


def test_other_names_bring_another_certificate(now: datetime, tmp_path: Path) -> None:
    keep_server_files(tmp_path, ["localhost"], now=now, authority_name="gpu-portal")

    files = keep_server_files(tmp_path, ["127.0.0.1"], now=now, authority_name="gpu-portal")

    assert covers(files.certificate.read_bytes(), ["127.0.0.1"])


@pytest.mark.parametrize("spoilt", ["ca.crt", "ca.key", "server.crt", "server.key"])
def test_a_spoilt_or_missing_file_is_made_anew(now: datetime, tmp_path: Path, spoilt: str) -> None:
    files = keep_server_files(tmp_path, ["localhost"], now=now, authority_name="gpu-portal")
    (tmp_path / spoilt).write_bytes(b"-----BEGIN CERTIFICATE-----\ncut")

    keep_server_files(tmp_path, ["localhost"], now=now, authority_name="gpu-portal")

    assert is_signed_by(files.certificate.read_bytes(), files.ca_bundle)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key)


def test_keys_are_readable_by_their_owner_only(now: datetime, tmp_path: Path) -> None:
    files = keep_server_files(tmp_path, ["localhost"], now=now, authority_name="gpu-portal")

    for key in (files.key, tmp_path / "ca.key"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_key_does_not_show_when_its_certificate_is_printed(now: datetime) -> None:
    assert "PRIVATE" not in repr(issue_authority("gpu-portal", now=now))
