"""What workers and their packages tell, each field with a text of its own: refused, or kept and shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from integration.hostile.texts.marked_texts import Marks, Zeros
from integration.hostile.texts.told.walked_records import list_text_fields, vary_texts
from integration.service.fleets import make_inventory, make_phase, make_record

from datamill.protocol.fleet import (
    FLEET_SCHEMA_VERSION,
    ArtifactFile,
    CrossCompilerVersion,
    GaveUp,
    GuestOffer,
    Hello,
    Lease,
    Output,
    Policy,
    RecordReport,
    Refused,
    Session,
    Taken,
    WorkerReport,
)
from datamill.protocol.offers import FactorOffer, MissingLevel
from datamill.protocol.quiet import ProcessUse, QuietFacts, QuietRule, QuietWindow
from datamill.protocol.trial import (
    ArchiveFacts,
    CounterFacts,
    DisturbanceFacts,
    FactorFacts,
    Failure,
    GuestFacts,
    IsolationFacts,
    Needs,
    ResourceFacts,
    TrialRecord,
)
from datamill.service.coordinator.messages.ingest import ReceivedReport, ingest_reports


def make_full_inventory(name: str = "one") -> Any:
    """Return an inventory with all that one can hold."""
    return make_inventory(
        name,
        factors=(
            FactorOffer(
                "aslr", "process", ("on", "off"), (MissingLevel("x", "it is not there"),), "on", "no"
            ),
        ),
        guest=GuestOffer("kvm", "none", (FactorOffer("aslr", "process", ("on",)),)),
        cross=(CrossCompilerVersion("aarch64", "aarch64-linux-gnu", "gcc-12"),),
    )


def make_full_record(lease: Lease) -> TrialRecord:
    """Return the record of a completed trial with all that one can hold."""
    phase = make_phase(counters=(CounterFacts("cycles", 1, ""),))
    return make_record(
        lease,
        isolation=IsolationFacts(
            "confined", "", needs=Needs(devices=("kvm",), folders=("/srv",)), gaps=("a",),
            guest=GuestFacts("kvm", "6.1", 1, 1 << 30),
        ),
        run=phase,
        factors=(FactorFacts("aslr", "on", "on", "read"),),
        archive=ArchiveFacts("out.tar.gz", 1, "a" * 64),
        notices=("well",),
        metrics={"size": (1.0,)},
        disturbance=DisturbanceFacts(
            processors="0", kernel_lines=("line",), untold=("disk",), busiest=(ProcessUse("cron", 1, 5),)
        ),
        unrestored=("aslr",),
        resources=ResourceFacts("cgroup_v2", "", 1, 1, 1, 1),
        quiet=QuietFacts(
            QuietRule(), 1, 1, True, QuietWindow(0.1, None, None, None, None), (ProcessUse("cron", 1, 5),),
            ("disk",),
        ),
    )  # fmt: skip


def list_messages(lease: Lease, artifact: ArtifactFile) -> dict[str, Any]:
    """Return a sound message of each kind, by its kind; the worker brought the artifact."""
    record = make_full_record(lease)
    failed = msgspec.structs.replace(
        record, outcome="failed", failure=Failure("run", "exit_status", "it went wrong", "mend it"),
        run=None, collect=None,
    )  # fmt: skip
    return {
        "hello": Hello(
            make_full_inventory(), Policy(reboot=True, users=(), quiet=QuietRule()), (), Session(1, "s")
        ),
        "taken": Taken(lease.attempt),
        "record": RecordReport(lease.attempt, record, (artifact,), False, "boot-1"),
        "failed": RecordReport(lease.attempt, failed, (), False, "boot-1"),
        "refused": Refused(lease.attempt, "disk", "no room"),
        "gave_up": GaveUp(lease.attempt, "it broke"),
        "output": Output(lease.attempt, "run", 0, "hello"),
    }


def write_report(worker_id: str, content: Any, now_s: float, **changes: Any) -> Any:
    """Return a report as JSON has it."""
    report = WorkerReport(FLEET_SCHEMA_VERSION, worker_id, "boot-1", int(now_s * 1e9), content)
    return msgspec.to_builtins(report) | changes


def say_plain(worker_id: str, report: Any, now_s: float) -> tuple[str, ...]:
    """Tell a report, given as JSON has it; return why it was refused, if it was."""
    return ingest_reports([ReceivedReport(worker_id, msgspec.json.encode(report))], now_s).refused


def vary_reports(
    worker_id: str, lease: Lease, artifact: ArtifactFile, marks: Marks | Zeros, now_s: float
) -> Iterator[tuple[str, Any]]:
    """Yield fields of all kinds of messages, each with the report in which that field alone is not sound."""
    for content in list_messages(lease, artifact).values():
        sound = write_report(worker_id, content, now_s)
        yield from vary_texts(WorkerReport, sound, marks.write)


def list_fields_of_reports() -> set[str]:
    """Return the fields of all that workers tell."""
    return list_text_fields(WorkerReport)
