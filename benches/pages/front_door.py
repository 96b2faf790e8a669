"""How long a page takes others while a stranger holds connections that never finish their requests.

`datamill serve` runs with the bounds of open files that most systems give (1024, at most 4096). Asked for is
`/login`, each time over a new connection: at rest, and while a stranger of the same machine holds unfinished
requests and opens each again as soon as it is closed. Memory and log are those of the coordinator's process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from fleet.fleet_processes import read_memory_mib
from integration.hostile.door.strangers import DoorCoordinator, ask, holding
from markdown import describe_machine, format_table

UNFINISHED = b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Never: "


@dataclass(frozen=True)
class Figures:
    """What others saw, and what it cost."""

    times_s: Sequence[float]
    refused: int
    memory_mib: float
    log_bytes: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table: at rest, under attack, and afterwards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=1100)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--attack", type=int, metavar="PORT", help="be the stranger, until input ends")
    given = parser.parse_args(arguments)
    if given.attack:
        with holding(given.attack, given.connections, UNFINISHED):
            print("holding", flush=True)
            sys.stdin.read()
        return
    with tempfile.TemporaryDirectory() as folder:
        coordinator = DoorCoordinator(Path(folder) / "data")
        coordinator.start()
        try:
            coordinator.wait_until_well()
            rest = measure(coordinator, given.seconds / 2)
            with attacking(coordinator.port, given.connections):
                attacked = measure(coordinator, given.seconds)
            after = measure(coordinator, given.seconds / 2)
        finally:
            coordinator.stop()
    print(describe_machine())
    print()
    heads = ("`/login`", "median ms", "95% ms", "worst ms", "unanswered", "memory MiB", "log kB")
    rows = [
        describe(name, figures)
        for name, figures in (
            ("at rest", rest),
            (f"{given.connections} unfinished requests", attacked),
            ("afterwards", after),
        )
    ]
    print(format_table(heads, rows))


@contextmanager
def attacking(port: int, connections: int) -> Iterator[None]:
    """Have another process be the stranger meanwhile."""
    command = [sys.executable, __file__, "--attack", str(port), "--connections", str(connections)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as stranger:  # type: ignore[call-overload]
        stranger.stdout.readline()
        yield
        stranger.stdin.close()


def measure(coordinator: DoorCoordinator, seconds: float) -> Figures:
    """Ask for the page for some seconds, ten times a second."""
    log_before = coordinator.log_file.stat().st_size
    times, refused = [], 0
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        began_s = time.monotonic()
        try:
            status, _ = ask(coordinator.port, timeout_s=10)
        except OSError:
            status = 0
        if status == 200:
            times.append(time.monotonic() - began_s)
        else:
            refused += 1
        time.sleep(max(0.0, 0.1 - (time.monotonic() - began_s)))
    grown = coordinator.log_file.stat().st_size - log_before
    return Figures(times, refused, read_memory_mib(coordinator.pid), grown)


def describe(name: str, figures: Figures) -> tuple[str, ...]:
    """Return a row of the table."""
    if figures.times_s:
        half, most, worst = np.quantile(figures.times_s, (0.5, 0.95, 1.0)) * 1000
        told = (f"{half:.0f}", f"{most:.0f}", f"{worst:.0f}")
    else:
        told = ("-", "-", "-")
    return (
        name,
        *told,
        str(figures.refused),
        f"{figures.memory_mib:.0f}",
        f"{figures.log_bytes / 1000:.0f}",
    )


if __name__ == "__main__":
    main()
