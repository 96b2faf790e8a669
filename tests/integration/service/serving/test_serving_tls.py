"""The coordinator's own authority: made once, known by a fingerprint, enough to tell it from impostors."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import ssl
from pathlib import Path

import pytest
from integration.service.brokers import WorkerIdentity, connect_worker, make_keys, running_broker

from datamill.experiment.errors import InputError
from datamill.service.broker.server_config import BrokerTls
from datamill.service.serving.tls import (
    compute_fingerprint,
    find_authority_pem,
    list_own_names,
    make_tls_files,
    read_tls_files,
)

NOW = datetime.datetime.now(datetime.UTC)


def test_authority_stays_and_its_certificate_follows_names_and_time(tmp_path: Path) -> None:
    first = make_tls_files(tmp_path, ["lab.example"], NOW)
    authority, certificate = first.authority.read_bytes(), first.certificate.read_bytes()
    make_tls_files(tmp_path, ["lab.example"], NOW)
    assert first.certificate.read_bytes() == certificate
    make_tls_files(tmp_path, ["lab.example", "192.168.7.7"], NOW)
    assert first.certificate.read_bytes() != certificate
    certificate = first.certificate.read_bytes()
    make_tls_files(tmp_path, ["lab.example", "192.168.7.7"], NOW + datetime.timedelta(days=380))
    assert first.certificate.read_bytes() != certificate
    assert first.authority.read_bytes() == authority
    for secret in (first.key, tmp_path / "ca.key"):
        assert secret.stat().st_mode & 0o077 == 0


def test_fingerprint_is_of_the_authority(tmp_path: Path) -> None:
    files = make_tls_files(tmp_path, [], NOW)
    der = ssl.PEM_cert_to_DER_cert(files.authority.read_text())
    assert compute_fingerprint(find_authority_pem(files)) == hashlib.sha256(der).hexdigest()[:32]
    assert compute_fingerprint(None) == "plain"
    assert {"localhost", "127.0.0.1", "10.0.2.2"} <= set(list_own_names())


def test_workers_reach_a_broker_with_tls_and_no_impostor(tmp_path: Path) -> None:
    files = make_tls_files(tmp_path / "ours", [], NOW)
    others = make_tls_files(tmp_path / "others", [], NOW)
    worker = WorkerIdentity("wone")

    async def run() -> None:
        keys = make_keys()
        tls = BrokerTls(files.certificate, files.key)
        async with running_broker(tmp_path / "nats", keys, tls=tls) as (_, url):
            assert url.startswith("tls://")
            trusting = ssl.create_default_context(cafile=str(files.authority))
            for host in ("127.0.0.1", "localhost"):
                client, _ = await connect_worker(url.replace("127.0.0.1", host), keys, worker, tls=trusting)
                await client.flush()
                await client.close()
            with pytest.raises(ssl.SSLError):
                await connect_worker(
                    url, keys, worker, tls=ssl.create_default_context(cafile=str(others.authority))
                )

    asyncio.run(run())


def test_certificates_of_a_user_are_checked_before_anything_starts(tmp_path: Path) -> None:
    ours, others = make_tls_files(tmp_path / "a", [], NOW), make_tls_files(tmp_path / "b", [], NOW)
    chain = tmp_path / "chain.pem"
    chain.write_bytes(ours.certificate.read_bytes() + ours.authority.read_bytes())
    assert find_authority_pem(read_tls_files(chain, ours.key, None)) == ours.authority.read_text()
    with pytest.raises(InputError, match="does not belong"):
        read_tls_files(ours.certificate, others.key, None)
    with pytest.raises(InputError, match="not a private key"):
        read_tls_files(ours.certificate, ours.certificate, None)
    with pytest.raises(InputError, match="not a certificate"):
        read_tls_files(ours.key, ours.key, None)
