"""A fleet that ran the fingerprint suite, and an application on some of its machines: times that we know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from integration.service.api_users import ApiUser, describe_file, make_package, store
from integration.service.fleets import (
    START_S,
    join,
    list_leases,
    make_phase,
    make_record,
    report,
    tell_record,
)

from datamill.packing.fingerprint_suite import SUITE_FOLDER
from datamill.packing.members import pack_members
from datamill.protocol.fleet import Lease
from datamill.service.coordinator.messages.ingest import ingest_reports
from datamill.service.coordinator.step import step

MEMBERS = sorted(path.name for path in (SUITE_FOLDER / "members").iterdir())
MACHINES = tuple(f"m{number}" for number in range(8))
_RANDOM = Random(18)
#: How fast each machine computes and how fast its memory is, and how much each program asks of either.
SPEEDS = {name: (math.exp(_RANDOM.gauss(0, 0.4)), math.exp(_RANDOM.gauss(0, 0.3))) for name in MACHINES}
SHARES = {name: _RANDOM.uniform(0.1, 0.9) for name in MEMBERS} | {"app": 0.4, "other": 0.7}


def take_time(program: str, machine: str) -> float:
    """What a program takes on a machine, in seconds: 3% of it is of this program on this machine alone."""
    compute, memory = SPEEDS[machine]
    own = math.exp(Random(f"{program} {machine}").gauss(0, 0.03))
    return own * (SHARES[program] / compute + (1 - SHARES[program]) / memory)


def pack_member(name: str) -> bytes:
    """A member of the suite as `datamill submit` sends it."""
    with TemporaryDirectory() as folder:
        archive = Path(folder) / "member.tar.gz"
        pack_members(SUITE_FOLDER / "members" / name, archive)
        return archive.read_bytes()


def write_text(
    name: str,
    packages: Sequence[str],
    machines: Sequence[str],
    *,
    replicates: int = 2,
    more: str = "",
    public: bool = False,
) -> str:
    """The file of an experiment whose trials are neither debugged nor preceded by reboots."""
    tables = "".join(f'[[package]]\nname = "{item}"\npath = "{item}"\n' for item in packages)
    return (
        f'[experiment]\nname = "{name}"\nquestion = "How long?"\nreplicates = {replicates}\nseed = 5\n'
        f"{tables}[constraints]\nworkers = {list(machines)}\n[coverage]\nmachine = {len(machines)}\n"
        '[fleet]\nreboot = "never"\ndebug = "never"\n'
        f"public = {str(public).lower()}\n{more}"
    )


class FingerprintedFleet:
    """Machines with times that we know, and a user who has experiments run on them."""

    def __init__(self, user: str = "ada", machines: Sequence[str] = MACHINES) -> None:
        self.ada = ApiUser(user)
        self.names = {join(name, cpu_model=f"model {name}").worker_id: name for name in machines}
        self.now_s = START_S
        #: By how much all that is measured from now on takes longer.
        self.slower = 1.0

    def list_first(self, count: int) -> tuple[str, ...]:
        """The names of so many machines, always the same: others would be another case."""
        return tuple(self.names.values())[:count]

    def submit(self, text: str, contents: Mapping[str, bytes], user: ApiUser | None = None) -> int:
        """Enter an experiment with the archives of its packages; return its number."""
        who = user or self.ada
        files = [
            describe_file(name, store(content, who.user, name), len(content))
            for name, content in contents.items()
        ]
        body: dict[str, Any] = {"text": text, "file_name": "e.toml", "packages": files, "options": {}}
        status, told = who.post("/experiments", body)
        assert status == 200, told
        return int(told["id"])

    def run_suite(self, user: ApiUser | None = None, *, machines: int = len(MACHINES), **options: Any) -> int:
        """Have the fingerprint suite run to its end; return the number of its experiment."""
        text = write_text("fingerprint", MEMBERS, self.list_first(machines), **options)
        number = self.submit(text, {name: pack_member(name) for name in MEMBERS}, user)
        self.finish()
        return number

    def run_application(
        self,
        *,
        machines: int = 5,
        packages: Sequence[str] = ("app",),
        user: ApiUser | None = None,
        **options: Any,
    ) -> int:
        """Have packages that are no members run to their end; return the number of their experiment."""
        text = write_text("application", packages, self.list_first(machines), **options)
        number = self.submit(text, {name: make_package(f"# {name}\n") for name in packages}, user)
        self.finish()
        return number

    def finish(self) -> None:
        """Let machines measure until there is nothing more to do."""
        while True:
            self.now_s += 1.0
            step(self.now_s)
            leases = list_leases(self.now_s)
            if not leases:
                return
            self.now_s += 1.0
            reports = [
                report(worker_id, tell_record(lease, self.measure(worker_id, lease)), clock_s=self.now_s)
                for worker_id, lease in leases.items()
            ]
            ingest_reports(reports, self.now_s)

    def measure(self, worker_id: str, lease: Lease) -> Any:
        """The record of a trial that took what its package takes there, give or take a hundredth."""
        spec = lease.spec
        # Without the number of the experiment: other tests make experiments before this one.
        place = spec.trial_id.partition(".")[2]
        noise = math.exp(Random(place + spec.package.name + self.names[worker_id]).gauss(0, 0.005))
        seconds = take_time(spec.package.name, self.names[worker_id]) * noise * self.slower
        return make_record(lease, run=make_phase(wall_time_ns=int(seconds * 1e9)))
