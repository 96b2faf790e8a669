"""The coordinator's own certificate authority, so that machines that join can tell it from an impostor."""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from datamill.experiment.errors import InputError
from datamill.service.kept_secrets import write_secret
from datamill.service.serving.spoken_names import make_constraints, make_name, may_speak, read_constraints

_AUTHORITY_DAYS = 3650
_SERVER_DAYS = 397
#: A certificate is made anew when it would end within this time.
_RENEW_DAYS = 60
#: Where QEMU's guests find the machine that they run on.
_GUESTS_HOST = "10.0.2.2"
_SIOCGIFADDR = 0x8915
PLAIN_FINGERPRINT = "plain"


@dataclass(frozen=True)
class TlsFiles:
    """What proves who the coordinator is: its certificate (chain), its key, and whom to trust."""

    certificate: Path
    key: Path
    authority: Path


def make_tls_files(
    folder: Path, names: Iterable[str], now: datetime.datetime, *, may_replace: bool = False
) -> TlsFiles:
    """Make authority and certificate in a folder, or take those that are there as long as they serve.

    The authority stays: enrolment tokens and workers know it. It may speak for the names that were known when
    it was made, and for addresses of private networks, so that its key is of no use against anybody else. Of
    earlier versions it may speak for all. The certificate is made anew when it is about to end or lacks a
    name; addresses of this machine for which the authority may not speak are left out.

    Args:
        folder: where they are kept.
        names: names and addresses of the coordinator, besides those of this machine.
        now: time, with its zone.
        may_replace: whether another authority may take the place of one that may not speak for a name.

    Raises:
        InputError: for a name that the authority may not speak for.
    """
    names = set(names)
    files = TlsFiles(folder / "server.pem", folder / "server.key", folder / "ca.pem")
    authority_key_file = folder / "ca.key"
    own = set(list_own_names())
    if not (files.authority.is_file() and authority_key_file.is_file()):
        _make_authority(files.authority, authority_key_file, names | own, now)
    spoken = read_constraints(_read_certificates(files.authority)[0])
    if foreign := sorted(name for name in names if not may_speak(spoken, name)):
        if not may_replace:
            raise InputError(
                f"the authority in {folder} was made without the name {foreign[0]}, and may not speak for it",
                where="--public-name",
                remedy="Bring a certificate with --tls-cert; or move that folder away: "
                "a new authority is made, and every worker has to join anew.",
            )
        _make_authority(files.authority, authority_key_file, names | own, now)
        files.certificate.unlink(missing_ok=True)
        spoken = read_constraints(_read_certificates(files.authority)[0])
    wanted = {name for name in names | own if may_speak(spoken, name)}
    if not _serves(files, wanted, now):
        _make_certificate(files, authority_key_file, wanted, now)
    return files


def read_tls_files(certificate: Path, key: Path, authority: Path | None) -> TlsFiles:
    """Check the files that a user named.

    Without an authority, the last certificate of the chain is what workers trust.

    Raises:
        InputError: when one is missing or is not what it is named.
    """
    chain = _read_certificates(certificate)
    try:
        private = serialization.load_pem_private_key(key.read_bytes(), password=None)
    except (ValueError, TypeError):
        raise InputError(
            "this is not a private key in PEM without a password",
            where=str(key),
            remedy="Name it with --tls-key.",
        ) from None
    spki = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    if private.public_key().public_bytes(*spki) != chain[0].public_key().public_bytes(*spki):
        raise InputError(
            f"this key does not belong to the first certificate of {certificate}",
            where=str(key),
            remedy="Give certificate and key that were made together.",
        )
    if authority is not None:
        _read_certificates(authority)
    return TlsFiles(certificate, key, authority or certificate)


def find_authority_pem(files: TlsFiles) -> str:
    """Return the certificate that workers trust, alone, in PEM."""
    last = _read_certificates(files.authority)[-1]
    return last.public_bytes(serialization.Encoding.PEM).decode()


def compute_fingerprint(authority_pem: str | None) -> str:
    """Return what an enrolment token says of the authority: 32 hexadecimal digits of SHA-256, or `plain`."""
    if authority_pem is None:
        return PLAIN_FINGERPRINT
    certificate = x509.load_pem_x509_certificate(authority_pem.encode())
    return hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).hexdigest()[:32]


def list_own_names() -> list[str]:
    """Return names and addresses of this machine, and that under which its guests reach it."""
    found = {"localhost", "127.0.0.1", "::1", _GUESTS_HOST, socket.gethostname(), socket.getfqdn()}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, interface in socket.if_nameindex():
            request = struct.pack("256s", interface.encode()[:15])
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
            except OSError:
                continue  # an interface without an address
            found.add(socket.inet_ntoa(answer[20:24]))
    return sorted(name for name in found if name)


def _make_authority(file: Path, key_file: Path, names: Iterable[str], now: datetime.datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "datamill coordinator's authority")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=_AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_allow(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(make_constraints(names), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write_key(key_file, key)
    write_secret(file, certificate.public_bytes(serialization.Encoding.PEM))


def _make_certificate(
    files: TlsFiles, authority_key_file: Path, names: Iterable[str], now: datetime.datetime
) -> None:
    authority = _read_certificates(files.authority)[0]
    authority_key = serialization.load_pem_private_key(authority_key_file.read_bytes(), password=None)
    assert isinstance(authority_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "datamill coordinator")]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # A worker's clock may be behind by a day.
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=_SERVER_DAYS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_allow(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([make_name(name) for name in sorted(names)]), critical=False
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    _write_key(files.key, key)
    write_secret(files.certificate, certificate.public_bytes(serialization.Encoding.PEM))


def _serves(files: TlsFiles, wanted: set[str], now: datetime.datetime) -> bool:
    if not (files.certificate.is_file() and files.key.is_file()):
        return False
    certificate = _read_certificates(files.certificate)[0]
    if certificate.not_valid_after_utc - now < datetime.timedelta(days=_RENEW_DAYS):
        return False
    told = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {make_name(name) for name in wanted} <= set(told)


def _allow(**uses: bool) -> x509.KeyUsage:
    kinds = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{kind: uses.get(kind, False) for kind in kinds})


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    content = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_secret(file, content)


def _read_certificates(file: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(file.read_bytes())
    except ValueError:
        raise InputError("this is not a certificate in PEM", where=str(file)) from None
