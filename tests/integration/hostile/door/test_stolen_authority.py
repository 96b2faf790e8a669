"""A thief takes the authority's key: who trusts the coordinator is not deceived about anybody else."""

from __future__ import annotations

import datetime
import ipaddress
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from acceptance.conftest import Command
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from integration.hostile.door.strangers import DoorCoordinator, wait_until

from datamill.experiment.errors import InputError
from datamill.service.serving import tls
from datamill.service.serving.spoken_names import make_name, read_constraints
from datamill.service.serving.tls import TlsFiles, make_tls_files

NOW = datetime.datetime.now(datetime.UTC)


def forge(folder: Path, *names: str) -> None:
    """Write a certificate of the authority in a folder for names of one's choice, in place of its own."""
    files = TlsFiles(folder / "server.pem", folder / "server.key", folder / "ca.pem")
    tls._make_certificate(files, folder / "ca.key", names, NOW)


def make_old_authority(folder: Path) -> None:
    """An authority as earlier versions made it: it may speak for all."""
    folder.mkdir(parents=True)
    real = x509.CertificateBuilder.add_extension

    def add(
        self: x509.CertificateBuilder, extension: x509.ExtensionType, critical: bool
    ) -> x509.CertificateBuilder:
        return self if isinstance(extension, x509.NameConstraints) else real(self, extension, critical)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(x509.CertificateBuilder, "add_extension", add)
        tls._make_authority(folder / "ca.pem", folder / "ca.key", [], NOW)
    assert read_constraints(tls._read_certificates(folder / "ca.pem")[0]) is None


def is_believed(folder: Path, name: str, *, strict: bool = False) -> bool:
    """Tell whether somebody who trusts the authority believes its certificate for a name."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem", folder / "server.key")
    client = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    if strict:
        client.verify_flags |= ssl.VERIFY_X509_STRICT
    here, there = socket.socketpair()

    def answer() -> None:
        try:
            server.wrap_socket(there, server_side=True).close()
        except (ssl.SSLError, OSError):
            there.close()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        client.wrap_socket(here, server_hostname=name).close()
    except ssl.SSLCertVerificationError:
        return False
    finally:
        here.close()
        thread.join()
    return True


def test_the_key_of_the_authority_is_of_no_use_against_others(tmp_path: Path) -> None:
    make_tls_files(tmp_path, ["mill.example.org", "203.0.113.7"], NOW)
    for name in ("mill.example.org", "203.0.113.7", "localhost", "127.0.0.1", "10.0.2.2"):
        assert is_believed(tmp_path, name, strict=True), name
    for name in ("bank.example", "example.org", "203.0.113.8", "2001:db8::1"):
        forge(tmp_path, name)
        assert not is_believed(tmp_path, name), name
    # Not even beside a name of ours.
    forge(tmp_path, "localhost", "bank.example")
    assert not is_believed(tmp_path, "localhost")
    forge(tmp_path, "below.mill.example.org")
    assert is_believed(tmp_path, "below.mill.example.org")


def test_an_authority_of_an_earlier_version_goes_on_for_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    make_old_authority(folder)
    before = (folder / "ca.pem").read_bytes()
    make_tls_files(folder, ["mill.example.org"], NOW)
    make_tls_files(folder, ["other.example.net"], NOW)
    assert is_believed(folder, "other.example.net")
    assert (folder / "ca.pem").read_bytes() == before


def test_a_name_that_came_later_is_refused_once_machines_joined(tmp_path: Path) -> None:
    make_tls_files(tmp_path, ["mill.example.org"], NOW)
    before = (tmp_path / "ca.pem").read_bytes()
    with pytest.raises(InputError, match=r"new\.example\.net") as problem:
        make_tls_files(tmp_path, ["mill.example.org", "new.example.net"], NOW)
    assert problem.value.where == "--public-name"
    assert "join anew" in problem.value.remedy
    assert (tmp_path / "ca.pem").read_bytes() == before
    # As long as nobody joined, another one takes its place.
    make_tls_files(tmp_path, ["mill.example.org", "new.example.net"], NOW, may_replace=True)
    assert (tmp_path / "ca.pem").read_bytes() != before
    assert is_believed(tmp_path, "new.example.net")


def test_an_address_that_this_machine_gets_later_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "list_own_names", lambda: ["localhost", "198.51.100.1"])
    make_tls_files(tmp_path, [], NOW)
    monkeypatch.setattr(tls, "list_own_names", lambda: ["localhost", "198.51.100.2", "192.168.7.9"])
    files = make_tls_files(tmp_path, [], NOW)
    (certificate,) = tls._read_certificates(files.certificate)
    told = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(told) == {make_name("localhost"), make_name("192.168.7.9")}
    assert is_believed(tmp_path, "localhost")
    made = certificate.not_valid_before_utc
    make_tls_files(tmp_path, [], NOW + datetime.timedelta(days=1))
    assert tls._read_certificates(files.certificate)[0].not_valid_before_utc == made


def test_constraints_are_critical_and_of_networks(tmp_path: Path) -> None:
    files = make_tls_files(tmp_path, ["203.0.113.7"], NOW)
    (authority,) = tls._read_certificates(files.authority)
    extension = authority.extensions.get_extension_for_class(x509.NameConstraints)
    assert extension.critical
    assert x509.IPAddress(ipaddress.ip_network("203.0.113.7/32")) in extension.value.permitted_subtrees
    key = serialization.load_pem_private_key((tmp_path / "ca.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    authority.public_key().verify(  # type: ignore[call-arg,union-attr]
        authority.signature,
        authority.tbs_certificate_bytes,
        ec.ECDSA(hashes.SHA256()),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("kind", ["old", "new", "forged"])
def test_the_real_worker_believes_authorities_old_and_new_and_no_forged_name(
    datamill: Command, tmp_path: Path, kind: str
) -> None:
    program = shutil.which("datamill-worker", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("there is no datamill-worker here: make .venv/bin/datamill-worker")
    served = DoorCoordinator(tmp_path / "data", options=("--tls", "--public-name", "localhost"))
    folder = served.data / "tls"
    if kind == "old":
        make_old_authority(folder)
    served.start()
    try:
        wait_until(lambda: "Ctrl-C" in served.log(), 120, "it does not start")
        token = datamill("worker", "token", "--quiet", timeout_s=120).stdout.strip()
        if kind == "forged":
            served.stop()
            forge(folder, "bank.example", "localhost", *tls.list_own_names())
            served.start()
            wait_until(lambda: served.log().count("Ctrl-C") == 2, 120, "it does not start")
        url, state = f"https://localhost:{served.port}", tmp_path / "state"
        joining = (program, "join", url, "--token", token, "--state", str(state))
        with (
            (tmp_path / "worker.log").open("wb") as log,
            subprocess.Popen(joining, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as worker,
        ):
            try:
                joined = state / "fleet" / "identity.json"
                wait_until(lambda: joined.exists() or worker.poll() is not None, 60, "it does not join")
                # At the broker, too.
                if joined.exists():
                    wait_until(lambda: _serves(datamill), 60, "it does not reach the broker")
            finally:
                worker.terminate()
        told = (tmp_path / "worker.log").read_text()
        assert joined.exists() == (kind != "forged"), told
        assert kind != "forged" or "NameConstraint" in told or "certificate" in told, told
    finally:
        served.stop()


def _serves(datamill: Command) -> bool:
    return '"idle"' in datamill("workers", "--json", timeout_s=120).stdout
