"""The contract with the worker: trial specification and trial record, as the crate `protocol` defines them.

Field by field the meanings stand in `protocol/*/*.schema.json`. Records hold no cycles, so the garbage
collector need not follow them (`gc=False`): reading a log of 100 000 takes a fifth of the time.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from datamill.protocol.quiet import ProcessUse, QuietFacts, QuietRule

SCHEMA_VERSION = 5
#: Versions of trial records that are read: what 2 to 5 added has defaults.
READ_VERSIONS = (1, 2, 3, 4, 5)

IsolationWanted = Literal["auto", "guest", "confined", "user_namespace", "overlay", "plain"]
BuildPolicy = Literal["fresh", "shared"]
IsolationKind = Literal["guest", "confined", "user_namespace", "overlay", "plain"]
KernelInterface = Literal["perf_events", "io_uring", "userfaultfd", "namespaces"]
Accelerator = Literal["kvm", "tcg"]
ResourceMeans = Literal["cgroup_v2", "cgroup_v1", "rlimits"]
Outcome = Literal["completed", "failed", "timed_out", "lost"]
Phase = Literal["unpack", "isolate", "setup", "run", "collect"]
FailureKind = Literal[
    "bad_package",
    "exit_status",
    "signal",
    "timeout",
    "no_archive",
    "bad_metrics",
    "factor",
    "process_limit",
    "memory_limit",
    "disk_limit",
    "descriptor_limit",
    "disk_full",
    "isolation",
    "memory_killed",
    "internal",
]


class PackageSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The package of a trial."""

    name: str
    path: str
    sha256: str | None


class UserFactorSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A factor that the experiment brings along."""

    name: str
    path: str
    sha256: str | None


class Needs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a package needs of the host that packages usually do not get."""

    network: bool = False
    devices: tuple[str, ...] = ()
    kernel: tuple[KernelInterface, ...] = ()
    privileged: bool = False
    folders: tuple[str, ...] = ()


#: What a package gets that asks for nothing.
NO_NEEDS = Needs()


class TrialLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Bounds on time and size of a trial."""

    setup_timeout_s: float
    run_timeout_s: float
    collect_timeout_s: float
    output_bytes: int
    archive_bytes: int
    package_bytes: int
    package_files: int
    world_bytes: int
    processes: int = 0
    memory_bytes: int = 0
    descriptors: int = 0


class TrialSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One planned trial, as handed to `datamill-worker run-trial`."""

    schema: int
    experiment: str
    trial_id: str
    attempt: int
    package: PackageSpec
    levels: dict[str, str]
    isolation: IsolationWanted
    build: BuildPolicy
    seed: int
    limits: TrialLimits
    scratch_dir: str
    cache_dir: str
    output_dir: str
    user_factors: tuple[UserFactorSpec, ...] = ()
    background: PackageSpec | None = None
    build_seed: int | None = None
    measurements: int = 0
    warmup: int = 0
    needs: Needs = NO_NEEDS
    covered: tuple[str, ...] = ()
    quiet: QuietRule | None = None
    build_for: str | None = None


class WorkerFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The program that ran the trial."""

    id: str
    version: str


class HostFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The machine that the trial ran on."""

    arch: str
    kernel: str
    cpu_model: str
    cores: int
    memory_bytes: int
    boot_id: str


class GuestFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """An emulated machine of a trial's own."""

    accelerator: Accelerator
    kernel: str
    processors: int
    memory_bytes: int


class IsolationFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """How the trial was kept apart from the host.

    `guest` is the machine that it saw instead of the host, or that made the build.
    """

    kind: IsolationKind
    reason: str
    needs: Needs = NO_NEEDS
    owner: int | None = None
    covered: int = 0
    gaps: tuple[str, ...] = ()
    guest: GuestFacts | None = None


class ResourceFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What the scripts of a trial could use of the host, and who kept them to that."""

    means: ResourceMeans
    reason: str
    processes: int
    memory_bytes: int
    world_bytes: int
    descriptors: int


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Why a trial did not complete."""

    phase: Phase
    kind: FailureKind
    message: str
    remedy: str


class CounterFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One event counter over a phase, inherited by its descendants."""

    name: str
    value: int | None
    reason: str


class PhaseFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One measured phase: one process from its exec to its end, with the descendants that it waited for."""

    started_unix_ns: int
    wall_time_ns: int
    user_time_ns: int
    system_time_ns: int
    peak_memory_bytes: int
    peak_memory_floor_bytes: int
    minor_faults: int
    major_faults: int
    voluntary_switches: int
    involuntary_switches: int
    exit_code: int | None
    signal: int | None
    timed_out: bool
    left_processes: int
    stdout_bytes: int
    stderr_bytes: int
    output_truncated: bool
    counters: tuple[CounterFacts, ...]


class CompilerFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What the compiler wrapper saw and changed during a build."""

    invocations: int
    compiles: int
    optimization_passed: dict[str, int]
    optimization_changed: int
    links: int
    orderable_links: int
    links_reordered: int
    links_in_order: int
    programs: dict[str, int]
    escaped: int
    seeded_compiles: int = 0
    flagged_compiles: int = 0
    pie_executables: int = 0
    fixed_executables: int = 0
    unread_executables: int = 0
    compilers: dict[str, int] = {}
    marked_executables: int = 0
    marks: dict[str, int] = {}
    startup_marks: tuple[str, ...] = ()
    unmarked_compiles: int = 0
    executables_left: int = 0


class BuildFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The build that a trial measured."""

    id: str
    policy: BuildPolicy
    reused: bool
    setup: PhaseFacts | None
    compiler: CompilerFacts
    executables_sha256: str | None = None


class FactorFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Read-back of one factor."""

    name: str
    asked: str
    observed: str | None
    evidence: str


class ArchiveFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The collected archive."""

    file: str
    bytes: int
    sha256: str


class DisturbanceFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What else went on on the whole machine while `run.sh` ran."""

    span_ns: int = 0
    processors: str | None = None
    steal_time_ns: int | None = None
    busy_time_ns: int | None = None
    other_time_ns: int | None = None
    interrupt_time_ns: int | None = None
    cpu_stall_ns: int | None = None
    memory_stall_ns: int | None = None
    io_stall_ns: int | None = None
    disk_bytes: int | None = None
    interrupts: int | None = None
    context_switches: int | None = None
    forks: int | None = None
    major_faults: int | None = None
    swapped_pages: int | None = None
    load_average: float | None = None
    lowest_frequency_khz: int | None = None
    highest_frequency_khz: int | None = None
    throttle_events: int | None = None
    temperature_mc: int | None = None
    clock_jump_ns: int | None = None
    suspended_ns: int | None = None
    kernel_lines: tuple[str, ...] = ()
    busiest: tuple[ProcessUse, ...] = ()
    untold: tuple[str, ...] = ()


class TrialRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What happened in one attempt at one trial."""

    schema: int
    experiment: str
    trial_id: str
    attempt: int
    package: str
    package_sha256: str | None
    levels: dict[str, str]
    seed: int
    worker: WorkerFacts
    host: HostFacts
    isolation: IsolationFacts
    started_unix_ns: int
    ended_unix_ns: int
    outcome: Outcome
    failure: Failure | None
    build: BuildFacts | None
    run: PhaseFacts | None
    collect: PhaseFacts | None
    factors: tuple[FactorFacts, ...]
    metrics: dict[str, tuple[float, ...]]
    archive: ArchiveFacts | None
    notices: tuple[str, ...]
    warmups: tuple[PhaseFacts, ...] = ()
    disturbance: DisturbanceFacts | None = None
    unrestored: tuple[str, ...] = ()
    resources: ResourceFacts | None = None
    quiet: QuietFacts | None = None
