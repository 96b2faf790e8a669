"""What simulated machines say of themselves and of trials, byte for byte as it goes over the wire."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from made.synthetic import make_phase

from datamill.protocol.fleet import (
    FLEET_SCHEMA_VERSION,
    CacheFacts,
    CompilerVersion,
    Inventory,
    Lease,
)
from datamill.protocol.offers import FactorOffer
from datamill.protocol.trial import (
    SCHEMA_VERSION,
    ArchiveFacts,
    BuildFacts,
    CompilerFacts,
    FactorFacts,
    Failure,
    HostFacts,
    IsolationFacts,
    TrialRecord,
    WorkerFacts,
)

OPTIMIZATIONS = ("-O0", "-O2")
#: Ways for a trial to end, as the worker tells them: outcome, phase and kind of its failure.
HOST_TROUBLES = (("isolate", "isolation"), ("run", "disk_full"), ("run", "internal"))


def make_host(arch: str, cpu_model: str, cores: int, boot_id: str) -> HostFacts:
    return HostFacts(arch, "6.12.0", cpu_model, cores, 8 << 30, boot_id)


def make_inventory(name: str, host: HostFacts, clock_unix_ns: int) -> Inventory:
    return Inventory(
        schema=FLEET_SCHEMA_VERSION,
        trial_schema=SCHEMA_VERSION,
        worker_version="0.1.0",
        hostname=name,
        host=host,
        clock_khz=3_000_000,
        caches=(CacheFacts(1, "Data", 32768),),
        distribution="debian 12",
        compilers=(CompilerVersion("gcc", "12.2.0"),),
        counters=False,
        isolation="confined",
        root=True,
        free_disk_bytes=50 << 30,
        factors=(FactorOffer("optimization", "build", OPTIMIZATIONS),),
        clock_unix_ns=clock_unix_ns,
    )


def make_lease_record(
    lease: Lease,
    worker: WorkerFacts,
    host: HostFacts,
    random: Random,
    *,
    started_unix_ns: int,
    duration_s: float,
    trouble: tuple[str, str] | None,
) -> TrialRecord:
    """Return the record of a trial that ran; `trouble` is the phase and kind of its failure."""
    spec = lease.spec
    wall_time_ns = int(duration_s * 1e9) + random.randrange(1, 1_000_000)
    changes: dict[str, Any] = {}
    if trouble is not None:
        phase, kind = trouble
        changes = {
            "outcome": "timed_out" if kind == "timeout" else "failed",
            "failure": Failure(phase, kind, f"{kind} in {phase}", ""),  # type: ignore[arg-type]
            "collect": None,
            "metrics": {},
            "archive": None,
        }
        if phase != "run":
            changes |= {"run": None, "build": None}
    setup = make_phase(random.randrange(1, 10**9), started_unix_ns=started_unix_ns)
    fields: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "experiment": spec.experiment,
        "trial_id": spec.trial_id,
        "attempt": spec.attempt,
        "package": spec.package.name,
        "package_sha256": spec.package.sha256,
        "levels": spec.levels,
        "seed": spec.seed,
        "worker": worker,
        "host": host,
        "isolation": IsolationFacts("confined", ""),
        "started_unix_ns": started_unix_ns,
        "ended_unix_ns": started_unix_ns + wall_time_ns,
        "outcome": "completed",
        "failure": None,
        "build": BuildFacts(
            random.randbytes(8).hex(),
            spec.build,
            False,
            setup,
            CompilerFacts(1, 1, {"-O2": 1}, 1, 1, 1, 0, 1, {"gcc": 1}, 0),
        ),
        "run": make_phase(wall_time_ns, started_unix_ns=started_unix_ns),
        "collect": make_phase(1000, started_unix_ns=started_unix_ns),
        "factors": tuple(
            FactorFacts(name, level, level, "seen")
            for name, level in spec.levels.items()
            if name == "optimization"
        ),
        "metrics": {"score": (random.random(), 1.5)},
        "archive": ArchiveFacts("collected.tar.gz", 10, random.randbytes(32).hex()),
        "notices": (),
    }
    return TrialRecord(**(fields | changes))


def encode_record(record: TrialRecord) -> bytes:
    """Return a record as the worker writes it: not as Python would, so that decoding and encoding shows."""
    return msgspec.json.encode(record).replace(b",1.5]", b",15e-1]")


def encode_content(kind: str, fields: dict[str, Any]) -> bytes:
    """Return what a report tells; `fields` may hold bytes of JSON as `msgspec.Raw`."""
    return msgspec.json.encode({"kind": kind, **fields})


def encode_report(
    worker_id: str, boot_id: str, clock_unix_ns: int, content: bytes, schema: int = FLEET_SCHEMA_VERSION
) -> bytes:
    """Return a worker's report; what it tells goes in byte for byte."""
    return msgspec.json.encode(
        {
            "schema": schema,
            "worker_id": worker_id,
            "boot_id": boot_id,
            "clock_unix_ns": clock_unix_ns,
            "content": msgspec.Raw(content),
        }
    )
