"""What viewers and strangers cost whoever works: trials a second and `/login` while others look on.

`datamill serve` with an experiment of 100,000 trials, simulated workers over the wire (as in
`fleet_throughput.py`), and in turn: nobody else; fifty live viewers; connections whose request never ends;
plans under way. Phases alternate, so that each is compared with a quiet one before it; trials/s are leases by
the database's own numbers. `/login` is asked for over a connection of its own each time.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from fleet_processes import read_memory_mib
from fleet_throughput import build_workers, describe_fleet
from markdown import describe_machine, format_table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from django.contrib.auth.models import User
from integration.service.databases import serve_postgres, use_database
from integration.service.played_fleet import Coordinator, enrol, submit

from datamill.service.accounts import make_api_key
from datamill.service.coordinator.invariants import find_violations
from datamill.service.coordinator.rows import select_rows

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


@dataclass
class Phase:
    """What was seen in some seconds."""

    name: str
    per_s: float = 0.0
    login_s: list[float] = field(default_factory=list)
    memory_mib: float = 0.0


class Sockets:
    """Connections that send something and then read, or do not."""

    def __init__(self, port: int, requests: Sequence[bytes], *, reading: bool = True) -> None:
        self._selector = selectors.DefaultSelector()
        self._reading = reading
        self._ended = threading.Event()
        self.bytes = 0
        self.closed = 0
        self._sockets = []
        for request in requests:
            with contextlib.suppress(OSError):
                connection = socket.create_connection(("127.0.0.1", port), 10)
                connection.sendall(request)
                self._sockets.append(connection)
                if reading:
                    connection.setblocking(False)
                    self._selector.register(connection, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ended.is_set():
            if not self._reading:
                self._ended.wait(0.2)
                continue
            for key, _ in self._selector.select(0.2):
                connection: Any = key.fileobj
                try:
                    piece = connection.recv(1 << 18)
                except OSError:
                    piece = b""
                self.bytes += len(piece)
                if not piece:
                    self.closed += 1
                    self._selector.unregister(connection)

    def close(self) -> None:
        """End them all."""
        self._ended.set()
        self._thread.join()
        for connection in self._sockets:
            connection.close()


@contextlib.contextmanager
def watch_live(port: int, experiment: int, keys: Sequence[str]) -> Iterator[Sockets]:
    """Fifty viewers who follow an experiment from now on."""
    last = select_rows("SELECT MAX(id) FROM datamill_event")[0][0]
    requests = [
        f"GET /api/experiments/{experiment}/stream HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n"
        f"Last-Event-ID: {last}.0\r\n\r\n".encode()
        for key in keys
    ]
    sockets = Sockets(port, requests)
    try:
        yield sockets
    finally:
        sockets.close()
        print(f"  viewers: {sockets.bytes / 1e6:.1f} MB read, {sockets.closed} closed", file=sys.stderr)


@contextlib.contextmanager
def leave_open(port: int, number: int) -> Iterator[None]:
    """Requests that never end; what is closed is opened again."""
    ended = threading.Event()

    def keep() -> None:
        sockets: list[socket.socket] = []
        while not ended.is_set():
            while len(sockets) < number and not ended.is_set():
                try:
                    connection = socket.create_connection(("127.0.0.1", port), 2)
                    connection.sendall(b"GET /login HTTP/1.1\r\nHost: bench\r\nX-Slow: ")
                    connection.setblocking(False)
                    sockets.append(connection)
                except OSError:
                    break
            ended.wait(0.2)
            for connection in list(sockets):
                with contextlib.suppress(BlockingIOError):
                    try:
                        open_still = bool(connection.recv(4096))
                    except BlockingIOError:
                        raise
                    except OSError:
                        open_still = False
                    if not open_still:
                        connection.close()
                        sockets.remove(connection)
        for connection in sockets:
            connection.close()

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def plan_much(port: int, keys: Sequence[str], replicates: int) -> Iterator[None]:
    """One plan after the other for each key."""
    ended = threading.Event()
    package = {"kind": "package", "bytes": 400, "has_setup": False}
    body = json.dumps(
        {
            "text": PLAN.format(replicates=replicates),
            "file_name": "experiment.toml",
            "packages": [
                {**package, "name": name, "sha256": digest * 64}
                for name, digest in (("p1", "a"), ("p2", "b"))
            ],
            "options": {},
        }
    ).encode()
    answers: dict[str, int] = {}

    def ask(key: str) -> None:
        while not ended.is_set():
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/experiments/plan",
                body,
                {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    said = str(answer.status)
            except urllib.error.HTTPError as error:
                said = f"{error.code} {error.read()[:120].decode(errors='replace')}"
            except OSError as error:
                said = type(error).__name__
            answers[said] = answers.get(said, 0) + 1
            ended.wait(0.2)

    threads = [threading.Thread(target=ask, args=(key,), daemon=True) for key in keys]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(25)
        print(f"  plans: {answers}", file=sys.stderr)


@contextlib.contextmanager
def ask_without_end(port: int, experiment: int, keys: Sequence[str]) -> Iterator[None]:
    """Members who ask how far an experiment is, again and again, over a connection each."""
    ended = threading.Event()
    answers = [0]

    def ask(key: str) -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                while not ended.is_set():
                    connection.request(
                        "GET", f"/api/experiments/{experiment}", headers={"Authorization": f"Bearer {key}"}
                    )
                    connection.getresponse().read()
                    answers[0] += 1

    threads = [threading.Thread(target=ask, args=(key,), daemon=True) for key in keys]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(25)
        print(f"  {answers[0]} answers", file=sys.stderr)


def count_leases() -> int:
    """How many attempts were leased: by the highest number, which is no look at all of them."""
    return int(select_rows("SELECT MAX(id) FROM datamill_attempt")[0][0] or 0)


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


def format_phases(name: str, phases: Sequence[Phase], quiet: Sequence[Phase]) -> list[str]:
    """One line of the table."""
    rate, base = np.median([item.per_s for item in phases]), np.median([item.per_s for item in quiet])
    logins = [seconds for item in phases for seconds in item.login_s]
    return [
        name,
        f"{rate:.0f}",
        f"{100 * rate / base:.0f} %",
        f"{np.median(logins) * 1e3:.0f} ms",
        f"{np.quantile(logins, 0.95) * 1e3:.0f} ms",
        f"{max(logins) * 1e3:.0f} ms",
        f"{max(item.memory_mib for item in phases):.0f} MiB",
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
    parser.add_argument("--half-open", type=int, default=1100)
    parser.add_argument("--plans", type=int, default=10)
    parser.add_argument("--replicates", type=int, default=20, help="Of each plan, by machine and package.")
    parser.add_argument("--seconds", type=float, default=10.0, help="Of a phase.")
    parser.add_argument("--times", type=int, default=3, help="Phases of each kind.")
    parser.add_argument("--only", choices=["viewers", "questions", "half-open", "plans", "all"], nargs="*")
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
    loads: dict[str, Any] = {
        "viewers": lambda: watch_live(port, experiment, keys),
        "questions": lambda: ask_without_end(port, experiment, keys[: options.asking]),
        "half-open": lambda: leave_open(port, options.half_open),
        "plans": lambda: plan_much(port, planners, options.replicates),
    }

    @contextlib.contextmanager
    def everything() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for load in (loads["viewers"], loads["half-open"], loads["plans"]):
                stack.enter_context(load())
            yield

    loads["all"] = everything
    names = {
        "viewers": f"{options.viewers} viewers",
        "questions": f"{options.asking} members who ask without end",
        "half-open": f"{options.half_open} half-open connections",
        "plans": f"{options.plans} plans under way",
        "all": "all of it at once",
    }
    seen: dict[str, list[Phase]] = {}
    quiet: dict[str, list[Phase]] = {}
    try:
        assert player.stdin is not None
        orders = fleet | {"trials": options.trials, "mean_s": 0.0, "hang_up": False}
        player.stdin.write(json.dumps(orders).encode())
        player.stdin.close()
        while count_leases() < options.counted_before:
            assert player.poll() is None, "the simulated workers ended"
            time.sleep(0.2)
        for _ in range(options.times):
            for kind in options.only or loads:
                if count_leases() >= options.trials:
                    print("there are no trials left; give more --trials", file=sys.stderr)
                    break
                quiet.setdefault(kind, []).append(observe("quiet", coordinator, options.seconds))
                with loads[kind]():
                    time.sleep(1.0)
                    seen.setdefault(kind, []).append(observe(names[kind], coordinator, options.seconds))
                time.sleep(1.0)
    finally:
        player.kill()
        player.wait()
    everyone = [phase for phases in quiet.values() for phase in phases]
    header = ["", "trials/s", "of quiet", "/login p50", "p95", "most", "memory"]
    rows = [format_phases("nobody else", everyone, everyone)]
    rows += [format_phases(names[kind], seen[kind], quiet[kind]) for kind in seen]
    met = all(
        np.median([p.per_s for p in seen[kind]]) >= LEAST_SHARE * np.median([p.per_s for p in quiet[kind]])
        and np.median([s for p in seen[kind] for s in p.login_s]) <= MOST_LOGIN_S
        for kind in seen
    )
    target = (
        f"Target: at least {LEAST_SHARE:.0%} of the trials, /login in {MOST_LOGIN_S * 1e3:.0f} ms (median)."
    )
    return f"{format_table(header, rows)}\n\n{target} {'Met' if met else 'Missed'}."


if __name__ == "__main__":
    main()
