"""What viewers and strangers cost those who work: trials a second and `/login` while others look on.

`datamill serve` with an experiment of 100,000 trials, simulated workers over the wire (as in
`fleet_throughput.py`), and beside them in turn: fifty live viewers; members who ask without end; ten who
look at reports of an experiment of 6300 trials, each time at another one that has yet to be inferred; ten
who look at one that is kept; connections whose request never ends; plans under way; designs that are
searched for long; all of it but the questions, reports and searches. Each phase stands between two with
nobody else and is compared with these, so that a busy machine counts on both sides; trials/s are leases by
the database's own numbers. `/login` is asked for over a connection of its own each time.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from experiment_page import ANSWERED, count_all

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from django.conf import settings
from django.contrib.auth.models import User
from fleet.fleet_processes import read_memory_mib
from fleet.fleet_throughput import build_workers, describe_fleet
from integration.service.databases import serve_postgres, use_database
from integration.service.played_fleet import PACKAGE, Coordinator, enrol, submit
from markdown import describe_machine, format_table

from datamill.service.accounts import make_api_key
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.state.rows import select_rows
from datamill.service.files.disk import name_stored_file
from datamill.service.models import FleetExperiment

LEAST_SHARE = 0.9
MOST_LOGIN_S = 0.2
#: Two packages, so many replicates that planning takes a while.
PLAN = """
[experiment]
name = "large"
replicates = {replicates}

[[package]]
name = "p1"
path = "p1"

[[package]]
name = "p2"
path = "p2"

[coverage]
machine = "100%"

[fleet]
reboot = "never"
debug = "never"
"""
#: What analyses ask for begins with another digit in each phase, so that none is kept from before.
_beginnings = itertools.count(10)
#: Factors of three levels that a design which is searched for long has.
LONG_SEARCH_FACTORS = 12


@dataclass
class Phase:
    """What was seen in some seconds."""

    name: str
    per_s: float = 0.0
    login_s: list[float] = field(default_factory=list)
    memory_mib: float = 0.0


def list_clients(
    kind: str, experiment: int, keys: Sequence[str], planners: Sequence[str], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Who lays a load of a kind on the coordinator, as `attack_loads.py` wants to know it."""
    if kind == "viewers":
        last = select_rows("SELECT MAX(id) FROM datamill_event")[0][0]
        head = f"GET /api/experiments/{experiment}/stream HTTP/1.1\r\nHost: bench\r\n"
        more = f"Last-Event-ID: {last}.0\r\n"
        return [
            {"request": f"{head}Authorization: Bearer {key}\r\n{more}\r\n", "pause_s": 0.2} for key in keys
        ]
    if kind == "half-open":
        unfinished = "GET /login HTTP/1.1\r\nHost: bench\r\nX-Slow: "
        return [{"request": unfinished, "pause_s": 0.2, "times": options.half_open}]
    if kind == "questions":
        head = f"GET /api/experiments/{experiment} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n"
        return [
            {"request": f"{head}Authorization: Bearer {key}\r\n\r\n", "pause_s": 0.0}
            for key in keys[: options.asking]
        ]
    if kind in ("reports", "kept"):
        quantile = f"0.{next(_beginnings)}@@" if kind == "reports" else "0.5"
        path = describe_analysis(options.answered, quantile)
        return [describe_reader(key, path) for key in planners[: options.readers]]
    if kind in ("plans", "searches"):
        body = describe_submission(options.replicates if kind == "plans" else 0)
        head = "POST /api/experiments/plan HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return [
            {"request": f"{head}Authorization: Bearer {key}\r\n\r\n{body}", "pause_s": 0.2}
            for key in planners
        ]
    return [
        client
        for part in ("viewers", "half-open", "plans")
        for client in list_clients(part, experiment, keys, planners, options)
    ]


def describe_analysis(experiment: int, quantile: str) -> str:
    """Where an analysis of an experiment is."""
    asked = f"verb=quantiles&response=score&factor=optimization&quantile={quantile}"
    return f"/api/experiments/{experiment}/analysis?{asked}"


def keep_report(coordinator: Coordinator, key: str, experiment: int) -> None:
    """Have the analysis inferred that others look at."""
    address = f"{coordinator.url}{describe_analysis(experiment, '0.5')}"
    asked = urllib.request.Request(address, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(asked, timeout=180) as answer:
        answer.read()


def describe_reader(key: str, path: str) -> dict[str, Any]:
    """A member who looks at analyses, half a second after the last one."""
    head = f"GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n"
    return {"request": f"{head}Authorization: Bearer {key}\r\n\r\n", "pause_s": 0.5}


def describe_submission(replicates: int) -> str:
    """An experiment as it is sent to be planned; without replicates, one that is searched for long."""
    package = {"kind": "package", "bytes": 400, "has_setup": False}
    packages = [
        {**package, "name": name, "sha256": digest * 64} for name, digest in (("p1", "a"), ("p2", "b"))
    ]
    text = PLAN.format(replicates=replicates or 1)
    if not replicates:
        names = [f"f{number}" for number in range(LONG_SEARCH_FACTORS)]
        packages += [{**package, "kind": "factor", "name": name, "sha256": f"{name:f>64}"} for name in names]
        text = text.replace("replicates = 1", 'design = "d-optimal"\nmax_points = 3000')
        text += "".join(f'[[factor]]\npath = "{name}"\n' for name in names)
        text += "[factors]\n" + "".join(f'{name} = ["a", "b", "c"]\n' for name in names)
    return json.dumps({"text": text, "file_name": "experiment.toml", "packages": packages, "options": {}})


@contextlib.contextmanager
def laying_load(port: int, clients: Sequence[dict[str, Any]], seen: list[dict[str, Any]]) -> Iterator[None]:
    """Have clients ask in a process of their own while the block runs; append what they saw."""
    command = [sys.executable, str(Path(__file__).parent / "attack_loads.py")]
    load = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert load.stdin is not None
    load.stdin.write(json.dumps({"port": port, "clients": clients}) + "\n")
    load.stdin.flush()
    try:
        yield
    finally:
        seen.append(json.loads(load.communicate()[0]))


def count_leases() -> int:
    """How many attempts were leased: by the highest number, which is no look at all of them.

    Those of the experiment that reports are of were there before.
    """
    return int(select_rows("SELECT MAX(id) FROM datamill_attempt")[0][0] or 0) - ANSWERED


def observe(name: str, coordinator: Coordinator, seconds: float) -> Phase:
    """Watch trials and `/login` for a while."""
    phase = Phase(name)
    before, began_s = count_leases(), time.monotonic()
    while time.monotonic() - began_s < seconds:
        asked_s = time.monotonic()
        try:
            with urllib.request.urlopen(f"{coordinator.url}/login", timeout=30) as answer:
                answer.read()
            phase.login_s.append(time.monotonic() - asked_s)
        except OSError:
            phase.login_s.append(30.0)
        time.sleep(max(0.0, 0.1 - (time.monotonic() - asked_s)))
    phase.per_s = (count_leases() - before) / (time.monotonic() - began_s)
    assert coordinator.process is not None
    phase.memory_mib = read_memory_mib(coordinator.process.pid)
    print(
        f"{name}: {phase.per_s:.0f} trials/s, /login p50 {np.median(phase.login_s) * 1e3:.0f} ms,"
        f" most {max(phase.login_s) * 1e3:.0f} ms, {phase.memory_mib:.0f} MiB",
        file=sys.stderr,
        flush=True,
    )
    return phase


@dataclass
class Comparison:
    """Phases of one kind, each between two with nobody else; and what the clients say of themselves."""

    quiet: list[Phase] = field(default_factory=list)
    loaded: list[Phase] = field(default_factory=list)
    clients: list[dict[str, Any]] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Trials of those that there would have been: median over the phases."""
        around = [(a.per_s + b.per_s) / 2 for a, b in itertools.pairwise(self.quiet)]
        pairs = zip(self.loaded, around, strict=True)
        return float(np.median([phase.per_s / max(base, 1e-9) for phase, base in pairs]))

    @property
    def login_s(self) -> list[float]:
        """How long `/login` took."""
        return [seconds for phase in self.loaded for seconds in phase.login_s]

    @property
    def clients_share(self) -> float:
        """Of one processor, what the clients themselves took."""
        return sum(item["cpu_s"] for item in self.clients) / sum(item["elapsed_s"] for item in self.clients)


def format_phases(name: str, phases: Sequence[Phase], share: float, clients: float) -> list[str]:
    """One line of the table."""
    logins = [seconds for phase in phases for seconds in phase.login_s]
    return [
        name,
        f"{np.median([phase.per_s for phase in phases]):.0f}",
        f"{100 * share:.0f} %",
        f"{np.median(logins) * 1e3:.0f} ms",
        f"{np.quantile(logins, 0.95) * 1e3:.0f} ms",
        f"{max(logins) * 1e3:.0f} ms",
        f"{max(item.memory_mib for item in phases):.0f} MiB",
        f"{100 * clients:.0f} %",
    ]


def main() -> None:
    """Run the phases and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--counted-before", type=int, default=10_000, help="Trials before the first phase.")
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--asking", type=int, default=16, help="Members who ask again and again.")
    parser.add_argument("--readers", type=int, default=10, help="Members who look at reports.")
    parser.add_argument("--half-open", type=int, default=1100)
    parser.add_argument("--plans", type=int, default=10)
    parser.add_argument("--replicates", type=int, default=20, help="Of each plan, by machine and package.")
    parser.add_argument("--seconds", type=float, default=4.0, help="Of a phase.")
    parser.add_argument("--times", type=int, default=6, help="Phases of each kind.")
    parser.add_argument(
        "--only",
        choices=["viewers", "questions", "reports", "kept", "half-open", "plans", "searches", "all"],
        nargs="*",
    )
    parser.add_argument("--program", type=Path, help="The simulated workers, built before.")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    program = options.program or build_workers()
    print(f"{describe_machine()}\n", flush=True)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="datamill-bench-"))
        data = Path(folder) / "data"
        data.mkdir()
        if options.database == "postgres":
            url = stack.enter_context(serve_postgres(safe=True))
            extra: tuple[str, ...] = ("--database", url)
        else:
            url, extra = f"sqlite:///{data / 'coordinator.sqlite3'}", ()
        use_database(url)
        identities = enrol([f"m{number:05d}" for number in range(options.workers)])
        options.answered = submit(ANSWERED)
        settings.DATA_FOLDER = data
        stored = name_stored_file(PACKAGE)
        stored.parent.mkdir(parents=True)
        stored.write_bytes(b"ten bytes.")
        count_all(options.answered)
        FleetExperiment.objects.update(public=True)
        experiment = submit(options.trials)
        ada = User.objects.get(username="ada")
        keys = [make_api_key(ada, f"viewer {number}") for number in range(options.viewers)]
        planners = [
            make_api_key(User.objects.create_user(f"planner{number}"), "plans")
            for number in range(options.plans)
        ]
        coordinator = Coordinator(data, extra)
        coordinator.start()
        stack.callback(coordinator.kill, 15)
        coordinator.wait_until_well(60)
        print(run_phases(coordinator, program, identities, experiment, keys, planners, options))
        violations = find_violations()
        print(f"\n{options.workers} workers. Violations of invariants: {violations or 'none'}.")


def run_phases(
    coordinator: Coordinator,
    program: Path,
    identities: Sequence[Any],
    experiment: int,
    keys: Sequence[str],
    planners: Sequence[str],
    options: argparse.Namespace,
) -> str:
    """Have the workers work, and others come and go; return the table."""
    fleet = describe_fleet(coordinator, identities)
    player = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    port = coordinator.port
    names = {
        "viewers": f"{options.viewers} viewers",
        "questions": f"{options.asking} members who ask without end",
        "reports": f"{options.readers} members who ask for new reports",
        "kept": f"{options.readers} members who look at reports that are kept",
        "half-open": f"{options.half_open} half-open connections",
        "plans": f"{options.plans} plans under way",
        "searches": f"{options.plans} designs that are searched for long",
        "all": "all of it at once",
    }
    seen: dict[str, Comparison] = {}
    try:
        assert player.stdin is not None
        orders = fleet | {"trials": options.trials, "mean_s": 0.0, "hang_up": False}
        player.stdin.write(json.dumps(orders).encode())
        player.stdin.close()
        while count_leases() < options.counted_before:
            assert player.poll() is None, "the simulated workers ended"
            time.sleep(0.2)
        for kind in options.only or names:
            if kind == "kept":
                keep_report(coordinator, planners[0], options.answered)
            found = seen[kind] = Comparison([observe("quiet", coordinator, options.seconds)])
            for _ in range(options.times):
                clients = list_clients(kind, experiment, keys, planners, options)
                with laying_load(port, clients, found.clients):
                    time.sleep(1.0)
                    found.loaded.append(observe(names[kind], coordinator, options.seconds))
                print(f"  {found.clients[-1]}", file=sys.stderr)
                time.sleep(1.0)
                found.quiet.append(observe("quiet", coordinator, options.seconds))
                if count_leases() >= options.trials:
                    raise SystemExit("there are no trials left: give more --trials")
    finally:
        player.kill()
        player.wait()
    everyone = [phase for item in seen.values() for phase in item.quiet]
    header = ["", "trials/s", "of quiet", "/login p50", "p95", "most", "memory", "clients' own"]
    rows = [format_phases("nobody else", everyone, 1.0, 0.0)]
    rows += [
        format_phases(names[kind], item.loaded, item.share, item.clients_share) for kind, item in seen.items()
    ]
    met = all(item.share >= LEAST_SHARE and np.median(item.login_s) <= MOST_LOGIN_S for item in seen.values())
    target = (
        f"Target: at least {LEAST_SHARE:.0%} of the trials, /login in {MOST_LOGIN_S * 1e3:.0f} ms (median)."
    )
    note = "The last column is processor time of the clients themselves, of one processor."
    return f"{format_table(header, rows)}\n\n{note}\n{target} {'Met' if met else 'Missed'}."


if __name__ == "__main__":
    main()
