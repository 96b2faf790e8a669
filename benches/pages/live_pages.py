"""What 200 browsers cost the coordinator that hold the page of a running experiment.

`datamill serve` on SQLite, a few workers played over the wire that make some trials a second, and clients
that do what the page's script does: each has a session, holds the stream of the experiment, and asks for the
part of the page that changes whenever the stream says that something did. They are one process, apart from
this one. Without clients, with some and with all, for a while each: processor time of the coordinator's
process, its most memory, and how long `/login` took over a connection of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from fleet.fleet_processes import Watch
from integration.service.databases import use_database
from integration.service.played_fleet import Coordinator, enrol, submit
from markdown import describe_machine, format_table

USERS = 20


@dataclass(frozen=True)
class Phase:
    """What was seen with so many clients in so many seconds."""

    clients: int
    seconds: float
    cpu_s: float
    memory_mib: float
    trials: int
    login_s: tuple[float, ...]
    counts: dict[str, int]


#: What the script of the page asks for after each kind of event, and how long it waits for more.
PARTS = {"progress": ("progress", "trials"), "event": ("progress", "answer")}
DELAYS_S = {"progress": 0.3, "trials": 2.0, "answer": 2.0}


async def look_on(port: int, path: str, cookie: str, counts: Counter[str]) -> None:
    """Be a browser on a page: hold its stream, and ask for its parts when that says so."""
    await asyncio.sleep(random.uniform(0, 3))
    waiting: dict[str, asyncio.Task[None]] = {}
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(_say("GET", f"{path}/stream", cookie, keep=True))
            head = await reader.readuntil(b"\r\n\r\n")
            counts["streams" if b" 200 " in head.split(b"\r\n")[0] else "refused"] += 1
            while line := await reader.readline():
                kind = line.removeprefix(b"event: ").strip().decode()
                for part in PARTS.get(kind, ()) if line.startswith(b"event: ") else ():
                    if part not in waiting or waiting[part].done():
                        waiting[part] = asyncio.create_task(_ask(port, path, part, cookie, counts))
            writer.close()
        except OSError:
            counts["broken"] += 1
        await asyncio.sleep(1)


async def _ask(port: int, path: str, part: str, cookie: str, counts: Counter[str]) -> None:
    await asyncio.sleep(DELAYS_S[part])
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_say("GET", f"{path}/{part}", cookie))
        content = await reader.read()
        counts["parts" if b" 200 " in content[:20] else "refused"] += 1
        counts["bytes"] += len(content)
        writer.close()
    except OSError:
        counts["broken"] += 1


def _say(method: str, path: str, cookie: str, *, keep: bool = False) -> bytes:
    close = "" if keep else "Connection: close\r\n"
    return (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nHX-Request: true\r\n"
        f"Cookie: sessionid={cookie}\r\n{close}\r\n"
    ).encode()


async def be_clients(orders: dict[str, object]) -> None:
    """Be all clients until the input ends, and print what they counted."""
    counts: Counter[str] = Counter()
    cookies: list[str] = orders["cookies"]  # type: ignore[assignment]
    port, path = int(str(orders["port"])), str(orders["path"])
    tasks = [
        asyncio.create_task(look_on(port, path, cookies[number % len(cookies)], counts))
        for number in range(int(str(orders["clients"])))
    ]
    await asyncio.to_thread(sys.stdin.readline)
    for task in tasks:
        task.cancel()
    print(json.dumps(counts))


def observe(url: str, pid: int, count: int, seconds: float, number: int, cookies: Sequence[str]) -> Phase:
    """Let clients look on for a while, and watch the coordinator."""
    orders = {
        "port": int(url.rpartition(":")[2]),
        "path": f"/experiments/{number}",
        "cookies": list(cookies),
        "clients": count,
    }
    with subprocess.Popen(
        [sys.executable, __file__, "--be-clients", json.dumps(orders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as clients:
        # All are there before anything is counted.
        time.sleep(8)
        before, login_s = count_trials(), []
        with Watch({"coordinator": pid}) as usage:
            began_s = time.monotonic()
            while time.monotonic() - began_s < seconds:
                asked_s = time.monotonic()
                # As long as it takes: a busy disk stops the whole machine for seconds.
                with urllib.request.urlopen(f"{url}/login", timeout=120) as answer:
                    answer.read()
                login_s.append(time.monotonic() - asked_s)
                time.sleep(max(0.0, 0.2 - login_s[-1]))
            took_s = time.monotonic() - began_s
        trials = count_trials() - before
        said, _ = clients.communicate("\n")
    return Phase(
        count,
        took_s,
        usage.cpu_s["coordinator"],
        usage.memory_mib["coordinator"],
        trials,
        tuple(login_s),
        json.loads(said),
    )


def count_trials() -> int:
    """How many attempts were counted by now."""
    from datamill.service.coordinator.state.rows import select_rows

    return int(select_rows("SELECT COUNT(*) FROM datamill_attempt WHERE state = 'counted'")[0][0])


def play(broker: str, keys_file: str, seeds: str) -> None:
    """Be the workers until this process is ended."""
    import msgspec
    from integration.service.brokers import WorkerIdentity
    from integration.service.played_fleet import PlayedWorker, playing

    from datamill.service.broker.keys import Keys

    keys = msgspec.json.decode(Path(keys_file).read_bytes(), type=Keys)
    workers = [
        PlayedWorker(WorkerIdentity(*item), broker, keys, random.Random(place), duration_s=2.0)
        for place, item in enumerate(json.loads(seeds))
    ]

    async def serve() -> None:
        async with playing(workers):
            await asyncio.Event().wait()

    asyncio.run(serve())


def main() -> None:
    """Run the phases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, nargs="*", default=[0, 50, 200])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--be-clients", metavar="ORDERS", help=argparse.SUPPRESS)
    parser.add_argument("--play", nargs=3, metavar="WHAT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.be_clients:
        asyncio.run(be_clients(json.loads(given.be_clients)))
        return
    if given.play:
        play(*given.play)
        return
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as name:
        phases = run_phases(Path(name), given.clients, given.seconds)
    print(f"{describe_machine()} Load: {os.getloadavg()[0]:.1f}.\n")
    heads = ("clients", "processor", "memory", "trials/s", "parts/s", "/login median", "longest", "refused")
    print(format_table(heads, [describe(phase) for phase in phases]))


def run_phases(folder: Path, clients: Sequence[int], seconds: float) -> list[Phase]:
    """Serve an experiment that goes on, and let clients come and go."""
    from dataclasses import astuple

    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    from datamill.service.models import FleetExperiment

    data = folder / "data"
    data.mkdir()
    use_database(f"sqlite:///{data / 'coordinator.sqlite3'}")
    identities = enrol([f"m{number}" for number in range(4)])
    number = submit(20_000)
    FleetExperiment.objects.update(public=True)
    coordinator = Coordinator(data)
    coordinator.start()
    try:
        coordinator.wait_until_well()
        # Sessions are good where they are signed with the coordinator's own key.
        settings.SECRET_KEY = (data / "session-key").read_text(encoding="ascii").strip()
        cookies = []
        for place in range(USERS):
            client = Client()
            client.force_login(User.objects.create_user(f"viewer{place}"))
            cookies.append(client.cookies["sessionid"].value)
        assert coordinator.process is not None
        seeds = json.dumps([astuple(item) for item in identities])
        orders = [coordinator.broker_url, str(data / "keys"), seeds]
        with subprocess.Popen([sys.executable, __file__, "--play", *orders]) as workers:
            try:
                pid = coordinator.process.pid
                return [observe(coordinator.url, pid, count, seconds, number, cookies) for count in clients]
            finally:
                workers.terminate()
    finally:
        coordinator.kill(15)


def describe(phase: Phase) -> tuple[str, ...]:
    """Return a row of the table."""
    return (
        str(phase.clients),
        f"{100 * phase.cpu_s / phase.seconds:.0f} %",
        f"{phase.memory_mib:.0f} MiB",
        f"{phase.trials / phase.seconds:.1f}",
        f"{phase.counts.get('parts', 0) / phase.seconds:.1f}",
        f"{np.median(phase.login_s) * 1e3:.0f} ms",
        f"{max(phase.login_s) * 1e3:.0f} ms",
        str(phase.counts.get("refused", 0) + phase.counts.get("broken", 0)),
    )


if __name__ == "__main__":
    main()
