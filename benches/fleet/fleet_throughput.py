"""Trials of zero length a second through one coordinator: `datamill serve`, PostgreSQL, broker and wire.

Workers are simulated, with keys and credentials of their own, in one process (`crates/fleet/examples/
simulated_workers.rs`): each takes what it is ordered and reports a small record at once. PostgreSQL and the
broker write as in earnest: fsync on, `sync_interval: always`. Dispatch latency is the time from a report's
publishing until the worker has its next lease. Where all workers wait all the time, it is their number over
the throughput; so it is measured again with trials so long that the coordinator has half of that load. A
last pass has workers hang up for each trial and come back after it, as `datamill-worker` does.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

import integration.service.databases  # noqa: F401  # sets Django up for the others
from fleet.fleet_processes import Usage, Watch, read_parent
from integration.service.brokers import WorkerIdentity
from integration.service.databases import serve_postgres, use_database
from integration.service.played_fleet import Coordinator, enrol, submit
from made.synthetic import make_record
from markdown import describe_machine, format_table
from simulation.machines.made_records import make_host, make_inventory

from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.state.rows import select_rows
from datamill.service.models import Trial

ROOT = Path(__file__).resolve().parents[2]
TARGET_PER_S = 600.0
#: Share of trials at the beginning and at the end that do not count as sustained.
EDGE = 0.1


@dataclass(frozen=True)
class Passage:
    """What one passage of trials gave."""

    name: str
    trials: int
    per_s: float
    dispatch_s: Sequence[float]
    usage: Usage
    load: float


def build_workers() -> Path:
    """Build the simulated workers: optimized, but without what makes building slow."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target" / "bench"))
    quick = {"LTO": "off", "CODEGEN_UNITS": "16", "OPT_LEVEL": "2"}
    subprocess.run(
        ["cargo", "build", "--release", "-q", "-p", "datamill-fleet", "--example", "simulated_workers"],
        cwd=ROOT,
        env=os.environ
        | {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in quick.items()}
        | {"CARGO_TARGET_DIR": str(target)},
        check=True,
    )
    return target / "release" / "examples" / "simulated_workers"


def describe_fleet(coordinator: Coordinator, identities: Sequence[WorkerIdentity]) -> dict[str, Any]:
    """What the simulated workers need to know."""
    keys = coordinator.keys()
    inventory = make_inventory("m", make_host("x86_64", "A", 2, "boot"), time.time_ns())
    return {
        "url": coordinator.broker_url,
        "workers": [
            {"worker_id": item.worker_id, "seed": item.seed, "jwt": item.credential(keys)}
            for item in identities
        ],
        "hello": {
            "kind": "hello",
            "inventory": json.loads(msgspec.json.encode(inventory)),
            "policy": {},
            "attempts": [],
        },
        "record": json.loads(msgspec.json.encode(make_record("t"))),
    }


def run_passage(
    name: str,
    program: Path,
    fleet: dict[str, Any],
    coordinator: Coordinator,
    trials: int,
    *,
    mean_s: float = 0.0,
    hang_up: bool = False,
) -> Passage:
    """Submit an experiment, have it run, and check that every trial counted once."""
    experiment = submit(trials)
    ((backend,),) = select_rows("SELECT pg_backend_pid()")
    assert coordinator.process is not None
    player = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    parts = {
        "coordinator": coordinator.process.pid,
        "broker": coordinator.broker_pid,
        "PostgreSQL": read_parent(backend),
        "workers": player.pid,
    }
    orders = json.dumps(fleet | {"trials": trials, "mean_s": mean_s, "hang_up": hang_up})
    with Watch(parts, frozenset({"PostgreSQL"})) as usage:
        # The child is left unreaped until its time was read.
        assert player.stdin is not None
        assert player.stdout is not None
        player.stdin.write(orders.encode())
        player.stdin.close()
        told = json.loads(player.stdout.read())
    assert player.wait() == 0
    counted = Trial.objects.filter(experiment_id=experiment, state="counted").count()
    assert counted == trials, f"{counted} of {trials} trials counted\n{coordinator.log()}"
    receipts = np.sort(told["receipts_s"])
    low, high = int(EDGE * trials), int((1 - EDGE) * trials) - 1
    per_s = (high - low) / (receipts[high] - receipts[low])
    print(f"{name}: {per_s:.0f} trials/s", file=sys.stderr)
    return Passage(name, trials, float(per_s), told["dispatch_s"], usage, os.getloadavg()[0])


def format_passage(passage: Passage) -> list[str]:
    """One line of the table."""
    middle, late = np.quantile(passage.dispatch_s, [0.5, 0.99])
    used = sum(passage.usage.cpu_s.values())
    split = ", ".join(
        f"{name} {passage.usage.cpu_s[name] / passage.trials * 1e6:.0f}" for name in passage.usage.cpu_s
    )
    memory = passage.usage.memory_mib
    return [
        passage.name,
        f"{passage.trials:,}",
        f"{passage.per_s:.0f}",
        f"{middle * 1e3:.0f} ms",
        f"{late * 1e3:.0f} ms",
        f"{memory['coordinator']:.0f} MiB",
        f"{memory['broker']:.0f} MiB",
        f"{used / passage.trials * 1e6:.0f} µs: {split}",
        f"{passage.load:.1f}",
    ]


def measure_fsync(folder: Path, times: int = 200) -> float:
    """Median seconds of one write of 4 KiB and its fsync."""
    block, seconds = os.urandom(4096), []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(times):
            start = time.perf_counter()
            file.write(block)
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def main() -> None:
    """Run the passes and print what they gave."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=50_000)
    parser.add_argument("--later-trials", type=int, default=10_000, help="Trials of the other two passes.")
    options = parser.parse_args()
    # What is told to end ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    program = build_workers()
    print(f"{describe_machine()}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as folder, serve_postgres(safe=True) as url:
        fsync_s = measure_fsync(Path(folder))
        data = Path(folder) / "data"
        data.mkdir()
        use_database(url)
        identities = enrol([f"m{number:05d}" for number in range(options.workers)])
        coordinator = Coordinator(data, ("--database", url))
        coordinator.start()
        try:
            coordinator.wait_until_well(60)
            fleet = describe_fleet(coordinator, identities)
            passages = [run_passage("connected", program, fleet, coordinator, options.trials)]
            if options.later_trials:
                half_s = options.workers / (passages[0].per_s / 2)
                passages += [
                    run_passage(
                        "at half the load", program, fleet, coordinator, options.later_trials, mean_s=half_s
                    ),
                    run_passage(
                        "hanging up", program, fleet, coordinator, options.later_trials, hang_up=True
                    ),
                ]
            violations = find_violations()
        finally:
            coordinator.kill(15)
    header = [
        "workers", "trials", "trials/s", "dispatch p50", "p99", "coordinator", "broker", "CPU a trial",
        "load",
    ]  # fmt: skip
    print(format_table(header, [format_passage(passage) for passage in passages]))
    print(
        f"\n{options.workers} workers. A write of 4 KiB with its fsync takes {fsync_s * 1e3:.2f} ms here. "
        f"Violations of invariants: {violations or 'none'}."
    )
    verdict = "met" if passages[0].per_s >= TARGET_PER_S else "missed"
    print(f"Target: at least {TARGET_PER_S:.0f} trials/s with workers that stay connected: {verdict}.")


if __name__ == "__main__":
    main()
