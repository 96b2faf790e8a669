"""A trial under way (`run_leased.rs`)."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import msgspec

from datamill.protocol.fleet import ArtifactFile, Lease
from datamill.protocol.trial import WorkerFacts
from simulation.agent.durable import Durable
from simulation.agent.endings import PowerCutError, Waiting
from simulation.agent.wording import tell
from simulation.machines.disk import DiskFullError
from simulation.machines.made_records import HOST_TROUBLES, encode_content, encode_record, make_lease_record

if TYPE_CHECKING:
    from simulation.machines.machine import Machine


def run_leased(machine: Machine, files: Durable, random: Random) -> Waiting:
    """Run the attempt in the journal and spool its report; what fails here is found by `recover`."""
    journal = files.read_journal()
    if journal is None or journal.stage != "taken" or files.is_spooled(journal.lease.attempt):
        return
    lease = journal.lease
    journal.stage = "started"
    try:
        files.write("journal", msgspec.json.encode(journal))
    except DiskFullError:
        yield 1.0
        return
    package = machine.find_package(lease.spec.package.sha256 or "")
    beside = lease.spec.background
    is_poison = package.poison or bool(beside and machine.find_package(beside.sha256 or "").poison)
    machine.watch.execution_began(machine.name, machine.worker_id, lease.attempt)
    started_unix_ns = machine.clock_unix_ns()
    if lease.live_output:
        for number in range(random.randrange(3)):
            text = f"line {number}\n"
            machine.send_status(
                tell(
                    machine,
                    "output",
                    {"attempt": lease.attempt, "phase": "run", "number": number, "text": text},
                )
            )
    if is_poison:
        yield package.duration_s / 2
        machine.chances.struck["poison_package"] += 1
        raise PowerCutError
    duration_s = min(package.duration_s, lease.spec.limits.run_timeout_s)
    yield duration_s
    trouble: tuple[str, str] | None = None
    if random.random() < machine.host_trouble:
        trouble = random.choice(HOST_TROUBLES)
    elif package.is_broken_at(lease.spec.levels.get("optimization", ""), machine.worker_id):
        trouble = ("run", "exit_status")
    elif random.random() < package.failing:
        trouble = random.choice((("run", "exit_status"), ("run", "timeout"), ("setup", "signal")))
    record = encode_record(
        make_lease_record(
            lease,
            WorkerFacts(machine.fleet_name, "0.1.0"),
            machine.describe_host(),
            random,
            started_unix_ns=started_unix_ns,
            duration_s=duration_s,
            trouble=trouble,
        )
    )
    artifacts = list_artifacts(lease, trouble, random)
    content = encode_content(
        "record",
        {
            "attempt": lease.attempt,
            "record": msgspec.Raw(record),
            "artifacts": artifacts,
            "rebooted": journal.taken_boot_id != machine.boot_id,
            "taken_boot_id": journal.taken_boot_id,
        },
    )
    content, damaged = machine.damage(content)
    machine.watch.execution_ended(
        machine.name, machine.worker_id, lease.attempt, record, artifacts, damaged=damaged
    )
    machine.keep_uploads(lease.attempt, [(file.sha256, file.bytes) for file in artifacts])
    try:
        files.write(f"spool/{lease.attempt}", content)
    except DiskFullError:
        yield 1.0
        return
    if not damaged:
        machine.watch.record_spooled(machine.name, lease.attempt)
    files.remove_journal()


def list_artifacts(lease: Lease, trouble: tuple[str, str] | None, random: Random) -> list[ArtifactFile]:
    names = ["run.stdout"] if random.random() < 0.3 else []
    if lease.task == "build" and trouble is None:
        names.append("build.tar.gz")
    return [ArtifactFile(name, random.randbytes(32).hex(), random.randrange(1, 10_000)) for name in names]
