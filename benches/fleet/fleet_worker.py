"""What a worker of the fleet costs its machine: waiting for orders, and while a trial runs.

A coordinator as users start it, with TLS, and one worker in a network namespace of its own, so that every
packet there is the worker's. Wake-ups are context switches of all its threads (`/proc/PID/task/*/status`),
and packets are the namespace's, in and out (`/proc/PID/net/snmp`, Ip). Needs root.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from fleet.fleet_processes import list_children, read_memory_mib
from markdown import describe_machine, format_table
from running.free_ports import find_free_port

BIN = Path(sys.executable).parent
NAMESPACE = f"datamill-bench-{os.getpid()}"
#: Ends of the line between coordinator and worker, of a network that nobody routes.
HERE, THERE = "203.0.113.1", "203.0.113.2"
#: Time after which what begins has settled, and time to wait for anything, in seconds.
SETTLE_S, PATIENCE_S = 10.0, 120.0
EXPERIMENT = """
[experiment]
name = "quiet"
replicates = 1
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[fleet]
reboot = "never"
debug = "never"
"""


@dataclass(frozen=True)
class Account:
    """What processes did until now."""

    switches: int
    packets: int
    cpu_ticks: int


def read_account(worker: int, ours: list[int]) -> Account:
    """Add up context switches and processor time of processes, and the packets of the worker's namespace."""
    switches = ticks = 0
    for pid in ours:
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            lines = [line for line in status.read_text().splitlines() if "ctxt_switches" in line]
            switches += sum(int(line.split()[1]) for line in lines)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    names, values = [
        line.split()[1:]
        for line in Path(f"/proc/{worker}/net/snmp").read_text().splitlines()
        if line.startswith("Ip:")
    ]
    counts = dict(zip(names, map(int, values), strict=True))
    return Account(switches, counts["InReceives"] + counts["OutRequests"], ticks)


def measure(worker: int, ours: list[int], seconds: float) -> list[str]:
    """Cells of the table: what processes do in a while."""
    before = read_account(worker, ours)
    time.sleep(seconds)
    after = read_account(worker, ours)
    cpu_ms = (after.cpu_ticks - before.cpu_ticks) * 1000 / os.sysconf("SC_CLK_TCK")
    return [
        f"{seconds:.0f} s",
        str(after.switches - before.switches),
        str(after.packets - before.packets),
        f"{cpu_ms:.0f} ms",
        f"{sum(read_memory_mib(pid) for pid in ours):.1f} MiB",
        f"{sum(read_private_mib(pid) for pid in ours):.1f} MiB",
    ]


def read_private_mib(pid: int) -> float:
    """Resident memory that no file could give back, in MiB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) / 1024


@contextlib.contextmanager
def separate_network() -> Iterator[None]:
    """A network namespace with one line to here."""
    line = f"dmb{os.getpid() % 100000}"
    inside = ["ip", "netns", "exec", NAMESPACE]
    commands = [
        ["ip", "netns", "add", NAMESPACE],
        [
            *inside,
            "sysctl",
            "-qw",
            "net.ipv6.conf.all.disable_ipv6=1",
            "net.ipv6.conf.default.disable_ipv6=1",
        ],
        ["ip", "link", "add", line, "type", "veth", "peer", "name", "worker", "netns", NAMESPACE],
        ["ip", "addr", "add", f"{HERE}/30", "dev", line],
        ["ip", "link", "set", line, "up"],
        [*inside, "ip", "addr", "add", f"{THERE}/30", "dev", "worker"],
        [*inside, "ip", "link", "set", "worker", "up"],
        [*inside, "ip", "link", "set", "lo", "up"],
    ]
    try:
        for command in commands:
            subprocess.run(command, check=True)
        yield
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=False)


@contextlib.contextmanager
def running(
    command: list[str | Path], log: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is ended at the end."""
    with log.open("wb") as output:
        program = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, cwd=log.parent
        )
    try:
        yield program
    finally:
        program.terminate()
        program.wait(60)


def wait_for(words: str, log: Path) -> None:
    """Wait until a program said something."""
    deadline = time.monotonic() + PATIENCE_S
    while words not in log.read_text():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{log.name}: {log.read_text()[-2000:]}")
        time.sleep(0.1)


def list_family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    family = [pid]
    for member in family:
        with contextlib.suppress(OSError):
            family += list_children(member)
    return family


def find_run(worker: int, program: Path) -> list[int]:
    """Wait until `run.sh` sleeps; return the processes of the worker's that are there meanwhile."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        family = list_family(worker)
        with contextlib.suppress(OSError):
            names = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in family}
            if "sleep" in names.values():
                kind = program.stat()
                ours = []
                for pid in family:
                    found = Path(f"/proc/{pid}/exe").stat()
                    if (found.st_dev, found.st_ino) == (kind.st_dev, kind.st_ino):
                        ours.append(pid)
                return ours
        time.sleep(0.05)
    raise TimeoutError("no trial runs")


def write_experiment(folder: Path, seconds: float) -> None:
    """An experiment whose trials sleep."""
    folder.mkdir()
    (folder / "experiment.toml").write_text(EXPERIMENT)
    for name in ("a", "b"):
        package = folder / name
        package.mkdir()
        scripts = {
            "run.sh": f"#!/bin/sh\nsleep {seconds}\n",
            "collect.sh": "#!/bin/sh\necho 1 > out\necho out\n",
        }
        for script, text in scripts.items():
            (package / script).write_text(text)
            (package / script).chmod(0o755)


def main() -> None:
    """Measure both and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=BIN / "datamill-worker")
    parser.add_argument("--idle-s", type=float, default=60.0)
    parser.add_argument("--trial-s", type=float, default=20.0)
    options = parser.parse_args()
    program = options.program.resolve()
    # What is told to end tidies up too: a namespace would stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"{describe_machine()}\n", flush=True)
    if os.geteuid() != 0:
        print("Left out: a network namespace needs root.")
        return
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="datamill-bench-")))
        stack.enter_context(separate_network())
        environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}
        address = f"{HERE}:{find_free_port(HERE)}"
        serving = [BIN / "datamill", "serve", "--data", folder / "data", "--listen", address]
        stack.enter_context(running(serving, folder / "serve.log", environment))
        wait_for("serves a fleet", folder / "serve.log")

        def ask(*words: str | Path) -> str:
            return subprocess.run(
                [BIN / "datamill", *words], env=environment, check=True, capture_output=True, text=True
            ).stdout.strip()

        token = ask("worker", "token", "--quiet")
        joining = [
            "ip", "netns", "exec", NAMESPACE, program, "join", f"https://{address}", "--token", token,
            "--name", "alone", "--state", folder / "state",
        ]  # fmt: skip
        worker = stack.enter_context(running(joining, folder / "worker.log", environment)).pid
        wait_for(" serves ", folder / "worker.log")
        time.sleep(SETTLE_S)
        rows = [["waiting for orders", *measure(worker, [worker], options.idle_s)]]
        write_experiment(folder / "quiet", options.trial_s)
        ask("submit", folder / "quiet", "--yes")
        ours = find_run(worker, program)
        time.sleep(1)
        rows.append(["while run.sh sleeps", *measure(worker, ours, options.trial_s / 2)])
        rows[-1][0] += f" ({len(ours)} process{'es' if len(ours) > 1 else ''})"
    header = ["worker", "watched for", "context switches", "packets", "CPU", "resident", "of it private"]
    print(format_table(header, rows))
    print(f"\nThe program has {program.stat().st_size / 2**20:.1f} MiB.")
    quiet = all(row[2:4] == ["0", "0"] for row in rows)
    print(f"Target: no wake-up and no packet of ours: {'met' if quiet else 'missed'}.")


if __name__ == "__main__":
    main()
