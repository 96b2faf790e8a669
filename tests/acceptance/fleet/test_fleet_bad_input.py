"""What users of a fleet get wrong ends in a sentence and status 2."""

from __future__ import annotations

import http.client
import io
import json
import socket
import ssl
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from acceptance.conftest import Command, assert_refused
from acceptance.fleet.fleets import LocalFleet
from running.free_ports import find_free_port

VERBS = (
    ("submit", "."),
    ("fetch", "1"),
    ("workers", "drain", "x"),
    ("worker", "token"),
)


@pytest.fixture
def alone(datamill: Command) -> Command:
    """A user without any coordinator."""
    return datamill


@pytest.fixture(scope="module")
def shared_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFleet]:
    """A coordinator with TLS and no workers."""
    started = LocalFleet(Command(tmp_path_factory.mktemp("fleet")), "--tls")
    yield started
    started.stop()


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_no_verb_works_without_knowing_the_coordinator(
    alone: Command, make_experiment: Callable[..., Path], verb: tuple[str, ...]
) -> None:
    make_experiment()
    assert_refused(alone(*verb), "which coordinator is not known", "DATAMILL_URL")


def test_an_unreachable_coordinator_is_named(alone: Command, make_experiment: Callable[..., Path]) -> None:
    make_experiment()
    url = f"http://127.0.0.1:{find_free_port()}"
    for verb in (("submit", "."), ("watch", "1"), ("workers",)):
        assert_refused(alone(*verb, "--url", url, "--key", "k"), url, "cannot be reached", "datamill serve")


def test_what_is_no_address_is_refused(alone: Command) -> None:
    for url in ("ftp://host", "host:8642", "https://", "http://[::1"):
        assert_refused(alone("workers", "--url", url, "--key", "k"), "address")


def test_settings_that_cannot_be_read_are_named(alone: Command) -> None:
    file = alone.folder / "config" / "datamill" / "coordinator.json"
    file.parent.mkdir(parents=True)
    for content in ("{", "[]", '{"url": "http://127.0.0.1:1"}'):
        file.write_text(content)
        assert_refused(alone("workers"), "coordinator.json", "Correct or remove the file")
    file.write_text('{"url": "https://127.0.0.1:1", "api_key": "k", "ca_pem": "nonsense"}')
    assert_refused(alone("workers"), "certificate authority cannot be read")


def test_something_else_that_answers_is_no_coordinator(alone: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

        thread = threading.Thread(target=answer)
        thread.start()
        result = alone("workers", "--url", f"http://127.0.0.1:{port}", "--key", "k")
        thread.join()
    assert_refused(result, "Is this the address of a datamill coordinator?")


def test_a_key_that_is_none_is_refused(shared_fleet: LocalFleet) -> None:
    assert shared_fleet.command("workers").returncode == 0
    refused = shared_fleet.command("workers", "--key", "dmk_wrong")
    assert_refused(refused, "does not know this key", "DATAMILL_KEY")


def test_the_key_of_one_coordinator_is_not_sent_to_another(shared_fleet: LocalFleet) -> None:
    url = f"http://127.0.0.1:{find_free_port()}"
    assert_refused(shared_fleet.command("workers", "--url", url), f"no key for {url} is known")


def test_another_certificate_than_the_expected_one_is_refused(
    shared_fleet: LocalFleet, tmp_path: Path
) -> None:
    settings = json.loads((shared_fleet.folder / "config" / "datamill" / "coordinator.json").read_bytes())
    stranger = Command(tmp_path)
    # Without its authority, only those count that this system trusts.
    refused = stranger("workers", "--url", settings["url"], "--key", settings["api_key"])
    assert_refused(refused, "certificate is not the one that was expected", "ca.pem")
    trusted = tmp_path / "ca.pem"
    trusted.write_text(settings["ca_pem"])
    stranger.environment["DATAMILL_CA"] = str(trusted)
    assert stranger("workers", "--url", settings["url"], "--key", settings["api_key"]).returncode == 0
    plain = settings["url"].replace("https", "http")
    assert_refused(stranger("workers", "--url", plain, "--key", "k"), "https://")


def test_numbers_and_names_that_are_not_there_are_refused(shared_fleet: LocalFleet) -> None:
    command = shared_fleet.command
    for verb in ("watch", "fetch", "cancel", "release", "trials"):
        assert_refused(command(verb, "77"), "there is no experiment 77 that you may see")
        assert_refused(command(verb, "seven"), "seven")
    assert_refused(command("workers", "drain", "no/such"), 'there is no worker "no/such"')
    assert_refused(command("worker", "token", "--life", "0s"), "--life")
    assert_refused(command("worker", "token", "--life", "400d"), "life_s")


def test_a_fleet_without_workers_says_how_to_get_some(
    shared_fleet: LocalFleet, datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment()
    datamill.environment["XDG_CONFIG_HOME"] = shared_fleet.command.environment["XDG_CONFIG_HOME"]
    assert_refused(datamill("submit", ".", "--yes"), "the fleet has no workers", "datamill worker join")


def test_a_token_that_is_none_lets_nobody_in(shared_fleet: LocalFleet) -> None:
    state = str(shared_fleet.folder / "state")
    refused = shared_fleet.command("worker", "join", shared_fleet.url, "--token", "x.y", "--state", state)
    assert_refused(refused, "token")


SCRIPT = b"#!/bin/sh\ntrue\n"
REBOOTING = """
[experiment]
name = "reboots"
replicates = 1
seed = 1

[[package]]
name = "a"
path = "a"
"""


def join_refused(fleet: LocalFleet, token: str, state: str) -> Any:
    return fleet.command("worker", "join", fleet.url, "--token", token, "--state", str(fleet.folder / state))


@pytest.fixture(scope="module")
def manned_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFleet]:
    """A coordinator without TLS, and a worker that must not be rebooted."""
    started = LocalFleet(Command(tmp_path_factory.mktemp("manned")))
    try:
        started.join("only")
        yield started
    finally:
        started.stop()


def test_a_token_that_has_expired_lets_nobody_in(shared_fleet: LocalFleet) -> None:
    token = shared_fleet.command("worker", "token", "--quiet", "--life", "1s").stdout.strip()
    time.sleep(1.5)
    refused = join_refused(shared_fleet, token, "expired")
    assert_refused(refused, "has expired", "datamill worker token")


def test_a_token_of_another_coordinator_lets_nobody_in(
    shared_fleet: LocalFleet, manned_fleet: LocalFleet
) -> None:
    token = manned_fleet.command("worker", "token", "--quiet").stdout.strip()
    assert_refused(join_refused(shared_fleet, token, "elsewhere"), "TLS")
    secret, _, fingerprint = shared_fleet.command("worker", "token", "--quiet").stdout.strip().rpartition(".")
    wrong = ("0" if fingerprint[0] != "0" else "1") + fingerprint[1:]
    assert_refused(join_refused(shared_fleet, f"{secret}.{wrong}", "elsewhere"), "certificate")


def test_a_token_works_once(manned_fleet: LocalFleet) -> None:
    made = manned_fleet.command("worker", "token", "--quiet")
    token = made.stdout.strip()
    worker = manned_fleet._start(
        "once", "worker", "join", manned_fleet.url, "--token", token, "--name", "once", "--state",
        str(manned_fleet.folder / "state-once"),
    )  # fmt: skip
    manned_fleet.wait("it to join", lambda: '"once"' in manned_fleet.command("workers", "--json").stdout)
    worker.terminate()
    worker.wait(timeout=120)
    refused = join_refused(manned_fleet, token, "twice")
    assert_refused(refused, "was used already", "datamill worker token")
    removed = manned_fleet.command("workers", "remove", "once", "--yes")
    assert removed.returncode == 0, removed.stderr
    assert '"once"' not in manned_fleet.command("workers", "--json").stdout


def test_what_no_machine_may_run_says_what_to_do(
    manned_fleet: LocalFleet, datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    datamill.environment["XDG_CONFIG_HOME"] = manned_fleet.command.environment["XDG_CONFIG_HOME"]
    make_experiment(text=REBOOTING)
    refused = datamill("submit", ".", "--reboot", "trial")
    assert_refused(refused, "only: its owner does not allow reboots", "--reboot never", "policy file")
    make_experiment(text=REBOOTING + '[constraints]\narch = ["s390x"]\n')
    assert_refused(datamill("submit", ".", "--reboot", "never"), "only:", "s390x")


def test_a_design_of_millions_of_trials_is_refused_at_once(
    manned_fleet: LocalFleet, datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    datamill.environment["XDG_CONFIG_HOME"] = manned_fleet.command.environment["XDG_CONFIG_HOME"]
    large = REBOOTING.replace("replicates = 1", "replicates = 1000000")
    make_experiment(text=f'{large}[[package]]\nname = "b"\npath = "b"\n[factors]\naslr = ["on", "off"]\n')
    began_s = time.monotonic()
    refused = datamill("submit", ".", "--reboot", "never", "--yes")
    assert_refused(refused, "trials")
    assert time.monotonic() - began_s < 120


def test_packages_of_gigabytes_and_archive_bombs_are_refused(
    manned_fleet: LocalFleet, datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    datamill.environment["XDG_CONFIG_HOME"] = manned_fleet.command.environment["XDG_CONFIG_HOME"]
    folder = make_experiment(text=REBOOTING).parent
    with (folder / "a" / "data").open("wb") as file:
        file.truncate(5 << 30)
    refused = datamill("submit", ".", "--reboot", "never")
    assert_refused(refused, "larger than allowed (4.0 GiB", "[limits]")
    (folder / "a" / "data").unlink()
    bomb = folder / "bomb.tar.gz"
    with tarfile.open(bomb, "w:gz", compresslevel=1) as tar:
        for name in ("run.sh", "collect.sh"):
            member = tarfile.TarInfo(name)
            member.mode, member.size = 0o755, len(SCRIPT)
            tar.addfile(member, io.BytesIO(SCRIPT))
        member = tarfile.TarInfo("zeros")
        member.size = 64 << 20
        tar.addfile(member, io.BytesIO(bytes(64 << 20)))
    assert bomb.stat().st_size < 1 << 20
    text = REBOOTING.replace('path = "a"', 'path = "bomb.tar.gz"') + '[limits]\npackage = "10 MiB"\n'
    (folder / "experiment.toml").write_text(text)
    assert_refused(datamill("submit", ".", "--reboot", "never"), "10.0 MiB", "[limits]")


def test_bodies_without_end_are_cut_off_before_anyone_logs_in(shared_fleet: LocalFleet) -> None:
    def send(path: str, megabytes: int) -> int:
        def pieces() -> Iterator[bytes]:
            for _ in range(megabytes):
                yield bytes(1 << 20)

        try:
            return httpx.post(f"{shared_fleet.url}{path}", content=pieces(), verify=False).status_code
        except httpx.TransportError:
            return 0  # The answer was lost with the connection, which is as good.

    for path in ("/login", "/api/experiments", "/api/workers/enrol", "/experiments/new/upload", "/"):
        assert send(path, 100) in (0, 401, 403, 413), path
    # One that says its size is refused by that alone.
    trusting = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("127.0.0.1", shared_fleet.port, context=trusting, timeout=20)
    connection.putrequest("POST", "/login")
    connection.putheader("Content-Length", "9" * 12)
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    assert httpx.get(f"{shared_fleet.url}/api/health", verify=False).status_code == 200


def test_nothing_that_the_coordinator_keeps_is_for_others_of_its_machine(shared_fleet: LocalFleet) -> None:
    folders = (shared_fleet.folder / "data", shared_fleet.folder / "config" / "datamill")
    files = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    assert len(files) > 10
    open_to_others = [path for path in files if path.is_file() and path.stat().st_mode & 0o077]
    assert not [path for path in open_to_others if folders[0].stat().st_mode & 0o077], open_to_others
    settings = shared_fleet.folder / "config" / "datamill" / "coordinator.json"
    assert settings.stat().st_mode & 0o777 == 0o600
    key = json.loads(settings.read_bytes())["api_key"]
    assert key not in shared_fleet.read("serve")
    for path in files:
        if path.is_file() and path != settings:
            assert key.encode() not in path.read_bytes(), path
