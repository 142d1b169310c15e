"""A certificate authority of our own and server certificates signed by it, for the admission webhook and the dev server.

Pure values first (issue, inspect), then one function that keeps a set in a folder and renews what is due. EC P-256 throughout.
"""

from __future__ import annotations

import ipaddress
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFETIME: Final = timedelta(days=3650)
SERVER_LIFETIME: Final = timedelta(days=365)
_CLOCK_SKEW: Final = timedelta(hours=1)
_COMMON_NAME_LENGTH: Final = 64


@dataclass(frozen=True)
class Issued:
    """A certificate with its key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class ServerFiles:
    """A server certificate as files, and the authority that a client must trust."""

    ca: Path
    certificate: Path
    key: Path

    @property
    def ca_bundle(self) -> bytes:
        return self.ca.read_bytes()


def issue_authority(common_name: str, *, now: datetime, lifetime: timedelta = AUTHORITY_LIFETIME) -> Issued:
    """Make an authority that signs server certificates and no further authorities."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common_name)
    public_key = key.public_key()
    usage = _key_usage(key_cert_sign=True, crl_sign=True)
    certificate = (
        _builder(name, name, public_key, now=now, until=now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _issued(certificate, key)


def issue_server(
    authority: Issued, names: Iterable[str], *, now: datetime, lifetime: timedelta = SERVER_LIFETIME
) -> Issued:
    """Make a certificate for a server reached by the names, which may be host names and IP addresses."""
    named = list(dict.fromkeys(names))
    if not named:
        raise ValueError("a server certificate needs at least one name")
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signing_key = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(signing_key, ec.EllipticCurvePrivateKey):
        raise TypeError("the authority's key is not an EC key")
    key = ec.generate_private_key(ec.SECP256R1())
    public_key = key.public_key()
    until = min(now + lifetime, signer.not_valid_after_utc)
    usage = _key_usage(digital_signature=True)
    certificate = (
        _builder(_name(named[0]), signer.subject, public_key, now=now, until=until)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in named]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False
        )
        .sign(signing_key, hashes.SHA256())
    )
    return _issued(certificate, key)


def is_due_for_renewal(certificate: bytes, *, now: datetime) -> bool:
    """Say whether two thirds of its life are over, or it cannot be used now at all."""
    loaded = x509.load_pem_x509_certificate(certificate)
    start, end = loaded.not_valid_before_utc, loaded.not_valid_after_utc
    return not start <= now < start + (end - start) * 2 / 3


def covers(certificate: bytes, names: Iterable[str]) -> bool:
    """Say whether a client that reaches the server by each of the names accepts the certificate."""
    extensions = x509.load_pem_x509_certificate(certificate).extensions
    listed = set(extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    return {_general_name(name) for name in names} <= listed


def is_signed_by(certificate: bytes, authority: bytes) -> bool:
    """Say whether a client that trusts the authority can trust the certificate."""
    try:
        loaded = x509.load_pem_x509_certificate(certificate)
        loaded.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
    except (
        ValueError,
        TypeError,
        InvalidSignature,
    ):  # another issuer's name, another kind of key, another key
        return False
    return True


def keep_server_files(
    folder: Path, names: Iterable[str], *, now: datetime, authority_name: str
) -> ServerFiles:
    """Give the server certificate kept in the folder; make or renew what is missing, due, or for other names.

    The authority outlives many server certificates, so clients that trust it go on trusting. Safe to call at any time, as often as
    one likes: each file is replaced at once, and keys are readable by the owner only.
    """
    named = list(names)
    folder.mkdir(parents=True, exist_ok=True)
    authority = _kept(folder / "ca.crt", folder / "ca.key")
    if authority is None or is_due_for_renewal(authority.certificate, now=now):
        authority = issue_authority(authority_name, now=now)
        _keep(authority, folder / "ca.crt", folder / "ca.key")
    files = ServerFiles(ca=folder / "ca.crt", certificate=folder / "server.crt", key=folder / "server.key")
    server = _kept(files.certificate, files.key)
    if (
        server is None
        or is_due_for_renewal(server.certificate, now=now)
        or not covers(server.certificate, named)
        or not is_signed_by(server.certificate, authority.certificate)
    ):
        _keep(issue_server(authority, named, now=now), files.certificate, files.key)
    return files


def _kept(certificate: Path, key: Path) -> Issued | None:
    """Read a pair back; ``None`` where there is none or the two do not belong together (a stop between two writes)."""
    try:
        issued = Issued(certificate.read_bytes(), key.read_bytes())
        loaded = serialization.load_pem_private_key(issued.key, password=None)
        belongs = loaded.public_key() == x509.load_pem_x509_certificate(issued.certificate).public_key()
    except (FileNotFoundError, ValueError):
        return None
    return issued if belongs else None


def _keep(issued: Issued, certificate: Path, key: Path) -> None:
    _write(key, issued.key, mode=0o600)
    _write(certificate, issued.certificate, mode=0o644)


def _write(path: Path, data: bytes, *, mode: int) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temporary, mode)
    os.replace(temporary, path)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    *,
    now: datetime,
    until: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(until)
    )


def _issued(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Issued:
    return Issued(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:_COMMON_NAME_LENGTH])])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )
