"""`datamill serve` as a command: what it makes, what it says, and how it ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import sqlite3
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.service.brokers import make_keys
from integration.service.databases import put_tables
from integration.service.played_fleet import Coordinator
from running.free_ports import find_free_port

from datamill.service.serving.tls import compute_fingerprint


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    served = Coordinator(tmp_path / "data")
    yield served
    if served.process is not None and served.process.poll() is None:
        served.kill(signal.SIGTERM)


def serve(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command with input that must make it end."""
    return subprocess.run(
        [sys.executable, "-c", "from datamill.cli.main import main; main()", "serve", *options],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")},
    )


def put_data(tmp_path: Path) -> Path:
    """A data folder with tables, which only a first start need make, and that takes longest."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    put_tables(data / "coordinator.sqlite3")
    return data


def dump(data: Path) -> list[str]:
    """All that is in the database of a data folder."""
    with contextlib.closing(sqlite3.connect(data / "coordinator.sqlite3")) as database:
        return list(database.iterdump())


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_one_command_makes_a_coordinator_that_its_owner_can_use(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    coordinator.start()
    coordinator.wait_until_well()
    settings_file = tmp_path / "config" / "datamill" / "coordinator.json"
    settings = json.loads(settings_file.read_text())
    assert settings["url"] == coordinator.url
    connection = http.client.HTTPConnection("127.0.0.1", coordinator.port, timeout=60)
    connection.request(
        "HEAD", f"/files/{'a' * 64}", headers={"Authorization": f"Bearer {settings['api_key']}"}
    )
    assert connection.getresponse().status == 404
    for secret in ("admin-password", "keys", "session-key", "nats/server.conf", "coordinator.sqlite3"):
        assert stat.S_IMODE((coordinator.data / secret).stat().st_mode) == 0o600, secret
    assert stat.S_IMODE(settings_file.stat().st_mode) == 0o600
    told = coordinator.log()
    for line in (coordinator.url, str(coordinator.data / "admin-password"), "datamill worker token",
                 f"datamill worker join {coordinator.url} --token"):  # fmt: skip
        assert line in told
    pid = coordinator.broker_pid
    assert coordinator.kill(signal.SIGTERM) == 0
    assert not is_alive(pid)


def test_a_second_start_finds_the_same_users_keys_and_broker(coordinator: Coordinator) -> None:
    coordinator.start()
    coordinator.wait_until_well()
    kept = ("keys", "admin-password", "session-key", "nats-port")
    before = {name: (coordinator.data / name).read_bytes() for name in kept}
    broker = coordinator.broker_pid
    # No chance to end anything: the kernel must end the broker.
    coordinator.kill(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while is_alive(broker):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    files = coordinator.data / "files"
    (files / "parts").mkdir(parents=True, exist_ok=True)
    abandoned = [files / "parts" / f"{'a' * 64}.u1", files / "tmpx.upload.gz", files / "upload-x"]
    for part in abandoned:
        part.write_bytes(b"half")
        os.utime(part, (0.0, 0.0))
    (files / ".making-x" / "bundle").mkdir(parents=True)
    # As an earlier version kept the archive of a publication.
    archive = coordinator.data / "publications" / f"{'b' * 64}.zip"
    archive.parent.mkdir()
    archive.write_bytes(b"an archive")
    coordinator.start()
    coordinator.wait_until_well()
    assert {name: (coordinator.data / name).read_bytes() for name in kept} == before
    assert not (files / ".making-x").exists()
    assert (files / "bb" / ("b" * 64)).read_bytes() == b"an archive"
    assert not archive.parent.exists()
    deadline = time.monotonic() + 60
    while any(part.exists() for part in abandoned):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_web_stays_up_and_says_so_while_the_broker_cannot_start(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    put_data(tmp_path)
    coordinator.start()
    coordinator.wait_until_well()
    config = coordinator.data / "nats" / "server.conf"
    good = config.read_text()
    config.write_text("no configuration {")
    os.kill(coordinator.broker_pid, signal.SIGKILL)
    deadline = time.monotonic() + 120
    while (told := coordinator.health() or {}).get("status") != "trouble":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert told["broker"]
    config.write_text(good)
    coordinator.wait_until_well()


def test_tls_is_spoken_with_an_authority_that_clients_can_check(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    put_data(tmp_path)
    coordinator.options = ("--tls", "--public-name", "lab.example")
    coordinator.start()
    authority = coordinator.data / "tls" / "ca.pem"
    deadline = time.monotonic() + 120
    while not (tmp_path / "config" / "datamill" / "coordinator.json").exists() or not _answers(
        coordinator.port
    ):
        assert time.monotonic() < deadline, coordinator.log()
        time.sleep(0.1)
    trusting = ssl.create_default_context(cafile=str(authority))
    with (
        socket.create_connection(("127.0.0.1", coordinator.port)) as plain,
        trusting.wrap_socket(plain, server_hostname="lab.example") as secure,
    ):
        secure.sendall(b"GET /ca.pem HTTP/1.1\r\nHost: lab.example\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: secure.recv(65536), b"")).decode()
    assert answer.endswith(authority.read_text())
    settings = json.loads((tmp_path / "config" / "datamill" / "coordinator.json").read_text())
    assert settings["url"] == f"https://lab.example:{coordinator.port}"
    assert settings["ca_pem"] == authority.read_text()
    assert len(compute_fingerprint(authority.read_text())) == 32
    assert "tls_required" in _read_greeting(int((coordinator.data / "nats-port").read_text()))


def test_two_coordinators_on_one_folder_are_refused(coordinator: Coordinator, tmp_path: Path) -> None:
    put_data(tmp_path)
    coordinator.start()
    coordinator.wait_until_well()
    assert coordinator.process is not None
    again = serve(tmp_path, "--data", str(coordinator.data), "--listen", f"127.0.0.1:{find_free_port()}")
    refused(again, str(coordinator.data), f"process {coordinator.process.pid}")


def test_two_coordinators_on_one_postgresql_are_refused(
    coordinator: Coordinator, postgres_url: str, tmp_path: Path
) -> None:
    coordinator.options = ("--database", postgres_url)
    coordinator.start()
    coordinator.wait_until_well()
    again = serve(
        tmp_path, "--data", str(tmp_path / "other"), "--listen", f"127.0.0.1:{find_free_port()}",
        "--database", postgres_url,
    )  # fmt: skip
    refused(again, "another coordinator works on this database")


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused(
            serve(tmp_path, "--data", str(tmp_path / "a"), "--listen", f"127.0.0.1:{port}"),
            str(port),
            "--listen",
        )
        done = serve(
            tmp_path,
            "--data",
            str(put_data(tmp_path)),
            "--listen",
            f"127.0.0.1:{find_free_port()}",
            "--nats-port",
            str(port),
        )
        refused(done, str(port), "--nats-port")


def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    data = put_data(tmp_path)
    with contextlib.closing(sqlite3.connect(data / "coordinator.sqlite3")) as database, database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('datamill', '9999_future', ?)",
            ["2030-01-01"],
        )
    before = dump(data)
    done = serve(tmp_path, "--data", str(data), "--listen", f"127.0.0.1:{find_free_port()}")
    refused(done, "newer datamill", "9999_future")
    assert dump(data) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--listen", "8642"], ["--listen", "HOST:PORT"]),
        (["--listen", "127.0.0.1:99999"], ["--listen"]),
        (["--listen", "192.0.2.1:8642"], ["--listen", "192.0.2.1"]),
        (["--tls-cert", "a.pem"], ["--tls-cert", "Give both"]),
        (["--tls-cert", "missing.pem", "--tls-key", "missing.pem"], ["missing.pem"]),
        (["--nats", "nats://127.0.0.1:1"], ["--nats-account-seed"]),
        (["--nats-replicas", "3"], ["--nats"]),
        (["--database", "mysql://x/y"], ["--database", "mysql"]),
        (
            ["--database", "postgres://ada:secret@127.0.0.1:1/none"],
            ["127.0.0.1:1", "cannot use the database"],
        ),
        (["--no-such-option"], ["--no-such-option"]),
    ],
)
def test_bad_options_end_with_a_message(tmp_path: Path, options: list[str], words: list[str]) -> None:
    given = ["--data", str(tmp_path / "data" if "--database" in options else put_data(tmp_path))]
    if "--listen" not in options:
        given += ["--listen", f"127.0.0.1:{find_free_port()}"]
    done = serve(tmp_path, *given, *options)
    refused(done, *words)
    assert "secret" not in done.stderr


def test_folders_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    refused(serve(tmp_path, "--data", str(file / "data")), str(file / "data"), "--data")
    refused(serve(tmp_path, "--data", "/proc/data"), "/proc/data", "--data")


def test_a_file_of_keys_that_is_not_ours_is_named(tmp_path: Path) -> None:
    data = put_data(tmp_path)
    (data / "keys").write_text("{}")
    done = serve(tmp_path, "--data", str(data), "--listen", f"127.0.0.1:{find_free_port()}")
    refused(done, str(data / "keys"), "backup")


def test_a_broker_that_does_not_answer_is_named(tmp_path: Path) -> None:
    seed = tmp_path / "seed"
    seed.write_text(make_keys().account_seed)
    data = put_data(tmp_path)
    port = find_free_port()
    done = serve(
        tmp_path, "--data", str(data), "--listen", f"127.0.0.1:{find_free_port()}",
        "--nats", f"nats://127.0.0.1:{port}", "--nats-account-seed", str(seed),
    )  # fmt: skip
    refused(done, f"nats://127.0.0.1:{port}", "--nats")
    seed.write_text("nothing")
    done = serve(
        tmp_path, "--data", str(data), "--listen", f"127.0.0.1:{find_free_port()}",
        "--nats", f"nats://127.0.0.1:{port}", "--nats-account-seed", str(seed),
    )  # fmt: skip
    refused(done, str(seed), "seed")


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _read_greeting(port: int) -> str:
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        return client.recv(4096).decode()
