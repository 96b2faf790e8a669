"""A package that tries everything runs on a fleet: it gets nothing, and the fleet goes on."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from acceptance.conftest import Command
from acceptance.fleet.fleets import LocalFleet, find_bundle

from datamill.results.bundles.opening import open_bundle

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="worlds that root makes need root")

HERE = Path(__file__).parent
#: Every secret of these tests has this in it.
CANARY = f"hostile-canary-{os.getpid()}-"


@dataclass(frozen=True)
class HostSecrets:
    """What is the host's: files that hold secrets, a process, a socket, a port."""

    folder: Path
    targets: dict[str, Any]

    def list_changes(self) -> list[str]:
        """Return what somebody changed on this machine."""
        marker = self.targets["marker"]
        found = [path for path in self.targets["marker_places"] if Path(path).exists()]
        found += [path for path in self.targets["host_files"] if Path(path).read_text() != CANARY + "file"]
        if socket.gethostname() == marker:
            found.append("the host's name")
        asked = ["pgrep", "-f", f"sleep {self.targets['left_process']}"]
        if subprocess.run(asked, capture_output=True, check=False).returncode == 0:
            found.append("a process")
        return found


def make_package(folder: Path, targets: dict[str, Any]) -> Path:
    """Make the package that tries everything on these targets."""
    package = folder / "everything"
    shutil.copytree(HERE / "everything", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "targets.json").write_text(json.dumps(targets))
    return package


def find_disk() -> tuple[int, int]:
    """Return the numbers of the device that holds the root folder."""
    device = Path("/").stat().st_dev
    return os.major(device), os.minor(device)


@pytest.fixture
def secrets(tmp_path: Path, whole_machine: None) -> Iterator[HostSecrets]:  # noqa: ARG001 - attacks set it
    """Secrets where they usually are: in a state folder, in the folder of a coordinator, in a home."""
    marker = f"datamill-hostile-{os.getpid()}"
    # A second before the first: file systems and clocks round.
    since_unix_s = int(time.time()) - 1
    state = tmp_path / "state"
    home = Path.home() / ".config" / "datamill-hostile-test"
    files = [
        state / "fleet" / "identity.json",
        tmp_path / "data" / "admin-password",
        home / "key",
        Path("/var/lib") / f"{marker}-service" / "secret",
    ]
    for number, file in enumerate(files):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{CANARY}{number}")
        file.chmod(0o600)
    plain = tmp_path / "file of the host"
    plain.write_text(CANARY + "file")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{marker}")
    abstract.listen()
    bystander = subprocess.Popen(["sleep", "7654.25"], env={**os.environ, "SECRET": CANARY + "environment"})
    places = ("/", "/etc", "/usr/bin", "/root", "/var/lib", "/run", "/dev/shm", "/tmp", "/boot")
    targets = {
        "secret_paths": [str(file) for file in files],
        "canaries": [CANARY],
        "secrets_since_unix_s": since_unix_s,
        "host_commands": ["sleep\x007654.25"],
        "host_pids": [bystander.pid],
        "host_files": [str(plain)],
        "addresses": ["127.0.0.1", *list_addresses()],
        "ports": [listener.getsockname()[1]],
        "abstract_socket": marker,
        "marker": marker,
        "marker_places": [str(Path(place) / marker) for place in (*places, tmp_path, state)],
        "disk": find_disk(),
        "left_process": f"8{os.getpid()}.5",
    }
    try:
        yield HostSecrets(tmp_path, targets)
    finally:
        bystander.kill()
        bystander.wait()
        listener.close()
        abstract.close()
        for file in (home / "key", Path("/var/lib") / f"{marker}-service" / "secret"):
            file.unlink(missing_ok=True)
            file.parent.rmdir()
        for place in targets["marker_places"]:
            if (left := Path(place)).is_file():
                left.unlink()


def list_addresses() -> list[str]:
    """Return the addresses of this machine beyond loopback."""
    told = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout
    return told.split()[:2]


EXPERIMENT = """
[experiment]
name = "hostile"
question = "What does a package reach?"
replicates = 1
seed = 1

[[package]]
name = "everything"
path = "everything"

[coverage]
machine = "100%"

[fleet]
reboot = "never"
debug = "never"
"""


def test_a_package_that_tries_everything_gets_nothing_on_a_fleet(
    secrets: HostSecrets, datamill: Command, tmp_path: Path
) -> None:
    fleet = LocalFleet(datamill)
    try:
        for name in ("left", "right"):
            fleet.join(name)
        states = [tmp_path / f"state-{name}" / "fleet" / "identity.json" for name in ("left", "right")]
        data = [path for path in (tmp_path / "data").iterdir() if path.is_file()]
        ports = [fleet.port, int((tmp_path / "data" / "nats-port").read_text())]
        targets = secrets.targets | {
            "secret_paths": [*secrets.targets["secret_paths"], *map(str, states), *map(str, data)],
            "ports": [*secrets.targets["ports"], *ports],
        }
        make_package(tmp_path, targets)
        (tmp_path / "experiment.toml").write_text(EXPERIMENT)
        submitted = datamill("submit", "experiment.toml", "--yes")
        assert submitted.returncode == 0, submitted.stderr
        watched = datamill("watch", "1", timeout_s=600)
        assert watched.returncode == 0, watched.stdout + watched.stderr
        fetched = datamill("fetch", "1")
        assert fetched.returncode == 0, fetched.stderr
        records = open_bundle(find_bundle(tmp_path, 1)).read_records()
        assert len(records) == 2
        for record in records:
            assert record.outcome == "completed", record.failure
            assert record.isolation.kind == "confined", record.isolation
            assert {name for name, values in record.metrics.items() if any(values)} == set()
            assert len(record.metrics) > 30
        assert secrets.list_changes() == []
        assert {worker["state"] for worker in fleet.ask("/workers")} == {"idle"}
    finally:
        fleet.stop()
