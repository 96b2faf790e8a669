"""How much memory the coordinator takes while files of 10 MB, 100 MB and 1 GB go in and come out.

`datamill serve` with a database of its own; this process sends a file of random bytes with the command line's
client, fetches it, and takes home the bundle of an experiment that has it among its artifacts. Memory is the
most that the coordinator's process ever had in the phase (`VmHWM` of the kernel, set back before it), so that
a peak of a millisecond counts.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiment_page import count_all

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from integration.service.databases import use_database
from integration.service.played_fleet import PACKAGE, Coordinator, enrol, submit
from markdown import describe_machine, format_table

from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.client_settings import ClientSettings

MEGABYTE = 1_000_000
SIZES = (10 * MEGABYTE, 100 * MEGABYTE, 1000 * MEGABYTE)
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Passage:
    """A file that went through the coordinator: memory before and the most meanwhile, and the time."""

    what: str
    size: int
    rest_mib: float
    peak_mib: float
    seconds: float


def read_peak_mib(pid: int) -> float:
    """Return the most resident memory that a process had since it was set back."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError(pid)


def set_peak_back(pid: int) -> float:
    """Let the most memory be what a process has now, and return that."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return read_peak_mib(pid)


def watch(pid: int, what: str, size: int, act: Callable[[], None]) -> Passage:
    """Return what an action took."""
    rest, began_s = set_peak_back(pid), time.monotonic()
    act()
    seconds = time.monotonic() - began_s
    return Passage(what, size, rest, read_peak_mib(pid), seconds)


def write_random(file: Path, size: int) -> str:
    """Write so many bytes that nothing makes smaller; return their SHA-256."""
    found = hashlib.sha256()
    with file.open("wb") as handle:
        for start in range(0, size, _PIECE_BYTES):
            piece = os.urandom(min(_PIECE_BYTES, size - start))
            found.update(piece)
            handle.write(piece)
    return found.hexdigest()


def pass_through(client: CoordinatorClient, pid: int, folder: Path, size: int) -> Iterator[Passage]:
    """Send a file and fetch it."""
    source, target = folder / "sent", folder / "fetched"
    sha256 = write_random(source, size)
    yield watch(pid, "upload", size, lambda: client.upload(source, sha256, kind="package", name="p.tar.gz"))
    yield watch(pid, "download", size, lambda: client.download(sha256, target))
    source.unlink()
    target.unlink()


def fetch_bundle(client: CoordinatorClient, number: int) -> None:
    """Take a bundle and throw it away."""
    with client.stream(f"/experiments/{number}/bundle") as answer:
        for _ in answer.iter_bytes(_PIECE_BYTES):
            pass


def attach(number: int, sha256: str) -> None:
    """Let the first attempt of an experiment have left a file."""
    from datamill.service.models import Artifact, Attempt, StoredFile

    attempt = Attempt.objects.filter(trial__experiment=number).order_by("id")[0]
    Artifact.objects.create(attempt=attempt, name="large.bin", file=StoredFile.objects.get(pk=sha256))


def make_experiment(data: Path, size: int) -> int:
    """Make an experiment with a file of so many bytes among its artifacts; return its number."""
    from datamill.service.files.store import keep_file
    from datamill.service.models import StoredFile

    part = data / "part"
    sha256 = write_random(part, size)
    keep_file(part, sha256)
    StoredFile.objects.create(
        sha256=sha256, kind="artifact", name="large.bin", size_bytes=size, stored_unix_s=1
    )
    number = submit(4)
    count_all(number)
    attach(number, sha256)
    return number


@contextmanager
def serving(folder: Path, sizes: Sequence[int]) -> Iterator[tuple[Coordinator, CoordinatorClient, list[int]]]:
    """Serve a database with an experiment for each size."""
    from django.conf import settings
    from django.contrib.auth.models import User

    from datamill.service.accounts import make_api_key
    from datamill.service.files.disk import name_stored_file

    data = folder / "data"
    data.mkdir()
    use_database(f"sqlite:///{data / 'coordinator.sqlite3'}")
    settings.DATA_FOLDER = data
    stored = name_stored_file(PACKAGE)
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"ten bytes.")
    enrol(["one"])
    numbers = [make_experiment(data, size) for size in sizes]
    key = make_api_key(User.objects.get(username="ada"), "bench")
    coordinator = Coordinator(data)
    coordinator.start()
    try:
        coordinator.wait_until_well()
        with CoordinatorClient(ClientSettings(coordinator.url, key, None)) as client:
            yield coordinator, client, numbers
    finally:
        coordinator.kill(15)


def main() -> None:
    """Pass files through, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="*", default=[size // MEGABYTE for size in SIZES])
    sizes = [number * MEGABYTE for number in parser.parse_args().megabytes]
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as name:
        folder = Path(name)
        with serving(folder, sizes) as (coordinator, client, numbers):
            assert coordinator.process is not None
            pid = coordinator.process.pid
            fetch_bundle(client, numbers[0])
            found = [passage for size in sizes for passage in pass_through(client, pid, folder, size)]
            for size, number in zip(sizes, numbers, strict=True):
                found.append(watch(pid, "bundle", size, lambda number=number: fetch_bundle(client, number)))
    print(f"{describe_machine()} Load: {os.getloadavg()[0]:.1f}.\n")
    rows = [
        (
            item.what,
            f"{item.size // MEGABYTE} MB",
            f"{item.rest_mib:.0f} MiB",
            f"{item.peak_mib:.0f} MiB",
            f"{item.seconds:.1f} s",
        )
        for item in sorted(found, key=lambda item: item.what)
    ]
    print(format_table(("passage", "size", "memory before", "most meanwhile", "took"), rows))


if __name__ == "__main__":
    main()
