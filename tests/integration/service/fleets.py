"""A small fleet for tests of the coordinator: workers that are messages alone, and experiments for them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import msgspec
from django.contrib.auth.models import User

from datamill.design.design import Design, DesignFactor, PlannedTrial
from datamill.design.fleet.fleet_records import Candidate, FleetPlan
from datamill.experiment.experiment import Experiment, FleetChoice
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.fleet import (
    FLEET_SCHEMA_VERSION,
    ArtifactFile,
    CacheFacts,
    CompilerVersion,
    EnrolmentRequest,
    GaveUp,
    Hello,
    Inventory,
    Lease,
    Orders,
    Output,
    Policy,
    RecordReport,
    Refused,
    Taken,
    WorkerReport,
)
from datamill.protocol.offers import FactorOffer
from datamill.protocol.trial import (
    SCHEMA_VERSION,
    BuildFacts,
    CompilerFacts,
    Failure,
    HostFacts,
    IsolationFacts,
    PhaseFacts,
    TrialRecord,
    WorkerFacts,
)
from datamill.results.bundles.bundle_head import BundleHead, BundlePackage
from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.experiments.submission import NewExperiment, create_experiment
from datamill.service.coordinator.joining.enrolment import EnrolledWorker, enrol_worker, make_token
from datamill.service.coordinator.joining.hardware import describe_candidate
from datamill.service.coordinator.messages.ingest import Ingested, ReceivedReport, ingest_reports
from datamill.service.coordinator.messages.orders import list_unsent_orders, mark_orders_sent
from datamill.service.coordinator.step import step
from datamill.service.models import Attempt, FileHolder, FleetWorker, StoredFile
from datamill.service.states import WorkerState

#: When tests begin.
START_S = 1_700_000_000.0
#: When any deadline has passed.
LATER_S = START_S + 10_000.0
Content = Hello | Taken | RecordReport | Refused | GaveUp | Output
TEXT = """
[experiment]
name = "xz-vs-bzip2"
replicates = 2
seed = 7

[[package]]
name = "xz"
path = "xz"

[[package]]
name = "bzip2"
path = "bzip2"

[factors]
aslr = ["on", "off"]
"""
_numbers = count(1)


def digest(text: str) -> str:
    """A digest as files have it."""
    return hashlib.sha256(text.encode()).hexdigest()


def make_user(name: str = "ada", *, staff: bool = False) -> User:
    user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": staff})
    return user


def make_public_key(number: int) -> str:
    """The form of a worker's public key, another for each number."""
    drawn = base64.b32encode(hashlib.sha512(str(number).encode()).digest()).decode()
    return "U" + drawn[:55]


def make_inventory(name: str = "host", **changes: Any) -> Inventory:
    host = {
        "arch": "x86_64", "kernel": "6.12.48-amd64", "cpu_model": "AMD EPYC", "cores": 2,
        "memory_bytes": 8 << 30, "boot_id": "boot-1",
    }  # fmt: skip
    host.update({key: changes.pop(key) for key in list(changes) if key in host})
    usual = Inventory(
        schema=FLEET_SCHEMA_VERSION,
        trial_schema=SCHEMA_VERSION,
        worker_version="0.1.0",
        hostname=name,
        host=HostFacts(**host),  # type: ignore[arg-type]
        clock_khz=2_400_000,
        caches=(CacheFacts(1, "Data", 32 << 10), CacheFacts(3, "Unified", 8 << 20)),
        distribution="debian 12",
        compilers=(CompilerVersion("gcc", "12.2.0"),),
        counters=False,
        isolation="confined",
        root=True,
        free_disk_bytes=1 << 34,
        factors=(FactorOffer("aslr", "process", ("on", "off")),),
        clock_unix_ns=int(START_S * 1e9),
    )
    return msgspec.structs.replace(usual, **changes)


def join(
    name: str = "",
    now_s: float = START_S,
    *,
    policy: Policy | None = None,
    owner: str = "ada",
    **changes: Any,
) -> EnrolledWorker:
    """Let a machine join, with a key of its own, and serve."""
    number = next(_numbers)
    user = make_user(owner)
    request = EnrolmentRequest(
        token=make_token(user, now_s, 3600.0),
        name=name or f"host{number}",
        public_key=make_public_key(number),
        inventory=make_inventory(name or f"host{number}", **changes),
        policy=policy or Policy(reboot=True),
    )
    enrolled = enrol_worker(request, now_s)
    # As its first hello would, which some tests say themselves.
    FleetWorker.objects.filter(pk=enrolled.worker_id).update(state=WorkerState.IDLE, left_unix_s=None)
    return enrolled


def make_plan(experiment: Experiment, workers: Sequence[str], *, spares: Sequence[str] = ()) -> FleetPlan:
    """A full design: every package, level and machine, replicated."""
    candidates = [describe_candidate(FleetWorker.objects.get(pk=worker_id), 0.0) for worker_id in workers]
    machines = tuple(candidate.name for candidate in candidates)
    packages = tuple(package.name for package in experiment.packages)
    points = [
        (machine, package, level) for machine in machines for package in packages for level in ("on", "off")
    ]
    numbers = count(1)
    trials = tuple(
        PlannedTrial(
            trial_id=f"t{number:03d}",
            order=number,
            point=point,
            replicate=replicate,
            package=package,
            levels={"package": package, "aslr": level, "machine": machine},
            block=machine,
            seed=number * 11,
        )
        for replicate in range(1, experiment.replicates + 1)
        for point, (machine, package, level) in enumerate(points, start=1)
        for number in [next(numbers)]
    )
    factors = (
        DesignFactor("package", packages, len(packages), build=True),
        DesignFactor("aslr", ("on", "off"), 2, build=False),
        DesignFactor("machine", machines, len(machines), build=False),
    )
    design = Design("full", experiment.seed, experiment.replicates, factors, trials)
    return FleetPlan(design, tuple(candidates), tuple(_candidates(spares)), (), {})


def _candidates(workers: Sequence[str]) -> list[Candidate]:
    return [describe_candidate(FleetWorker.objects.get(pk=worker_id), 0.0) for worker_id in workers]


def make_head(experiment: Experiment, *, setup: bool = True) -> BundleHead:
    packages = tuple(
        BundlePackage(item.name, f"packages/{item.name}.tar.gz", digest(item.name), 1000, 3, setup)
        for item in experiment.packages
    )
    return BundleHead(1, "0.1.0", 0, "experiment.toml", packages)


def submit(
    workers: Sequence[str],
    now_s: float = START_S,
    *,
    text: str = TEXT,
    hold: bool = False,
    spares: Sequence[str] = (),
    owner: str = "ada",
    trials: int | None = None,
    **fleet: Any,
) -> int:
    """Submit an experiment over workers; `fleet` are its options, by default without debug and reboot."""
    new = make_new(workers, text=text, hold=hold, spares=spares, owner=owner, trials=trials, **fleet)
    return create_experiment(new, now_s)


def make_new(
    workers: Sequence[str],
    *,
    text: str = TEXT,
    hold: bool = False,
    spares: Sequence[str] = (),
    owner: str = "ada",
    trials: int | None = None,
    **fleet: Any,
) -> NewExperiment:
    """An experiment over workers that is not submitted yet."""
    asked = parse_experiment(text, name="experiment.toml")
    choice = FleetChoice(**{"debug": "never", "reboot": "never", **fleet})
    asked = replace(asked, fleet=choice)
    plan = make_plan(asked, workers, spares=spares)
    if trials is not None:
        plan = replace(plan, design=replace(plan.design, trials=plan.design.trials[:trials]))
    return NewExperiment(make_user(owner), text, asked, make_head(asked), plan, hold)


def make_phase(**changes: Any) -> PhaseFacts:
    usual = PhaseFacts(
        started_unix_ns=1, wall_time_ns=1000, user_time_ns=10, system_time_ns=10, peak_memory_bytes=100,
        peak_memory_floor_bytes=10, minor_faults=1, major_faults=0, voluntary_switches=1,
        involuntary_switches=0, exit_code=0, signal=None, timed_out=False, left_processes=0, stdout_bytes=0,
        stderr_bytes=0, output_truncated=False, counters=(),
    )  # fmt: skip
    return msgspec.structs.replace(usual, **changes)


def make_record(lease: Lease, **changes: Any) -> TrialRecord:
    """The record of a trial that completed as it was leased."""
    spec = lease.spec
    usual = TrialRecord(
        schema=SCHEMA_VERSION,
        experiment=spec.experiment,
        trial_id=spec.trial_id,
        attempt=spec.attempt,
        package=spec.package.name,
        package_sha256=spec.package.sha256,
        levels=spec.levels,
        seed=spec.seed,
        worker=WorkerFacts("w", "0.1.0"),
        host=make_inventory().host,
        isolation=IsolationFacts("confined", ""),
        started_unix_ns=1,
        ended_unix_ns=2,
        outcome="completed",
        failure=None,
        build=BuildFacts("b", "fresh", False, None, CompilerFacts(0, 0, {}, 0, 0, 0, 0, 0, {}, 0)),
        run=make_phase(),
        collect=make_phase(),
        factors=(),
        metrics={},
        archive=None,
        notices=(),
    )
    return msgspec.structs.replace(usual, **changes)


def fail_record(lease: Lease, kind: str = "exit_status", phase: str = "run") -> TrialRecord:
    """The record of a trial that failed: for the package's reasons, or by a kind that is the host's."""
    failure = Failure(phase, kind, "it went wrong", "")  # type: ignore[arg-type]
    return make_record(lease, outcome="failed", failure=failure, run=None, collect=None)


def report(worker_id: str, content: Content, *, clock_s: float = START_S, **changes: Any) -> ReceivedReport:
    message = WorkerReport(FLEET_SCHEMA_VERSION, worker_id, "boot-1", int(clock_s * 1e9), content)
    return ReceivedReport(worker_id, msgspec.json.encode(msgspec.structs.replace(message, **changes)))


def say(worker_id: str, content: Content, now_s: float = START_S, **changes: Any) -> Ingested:
    """Have a worker tell something that arrives at once."""
    return ingest_reports([report(worker_id, content, clock_s=now_s, **changes)], now_s)


def tell_record(
    lease: Lease, record: TrialRecord | None = None, artifacts: tuple[ArtifactFile, ...] = ()
) -> RecordReport:
    """The report of a record, by default one of a completed trial."""
    return RecordReport(lease.attempt, record or make_record(lease), artifacts, False, "boot-1")


def hello(*attempts: str, policy: Policy | None = None, **changes: Any) -> Hello:
    return Hello(make_inventory(**changes), policy or Policy(reboot=True), attempts)


def bring(worker_id: str, sha256: str, size_bytes: int) -> None:
    """Have a file in the store, as if a worker had brought it."""
    stored, _ = StoredFile.objects.get_or_create(
        sha256=sha256, defaults={"size_bytes": size_bytes, "kind": "artifact", "stored_unix_s": START_S}
    )
    FileHolder.objects.get_or_create(file=stored, holder=worker_id)


def send_orders(now_s: float = START_S) -> dict[str, Orders]:
    """Send what is unsent, and return it by worker."""
    unsent = list_unsent_orders(100_000, START_S)
    mark_orders_sent(unsent, now_s)
    return {item.worker_id: msgspec.json.decode(item.payload, type=Orders) for item in unsent}


def list_leases(now_s: float = START_S) -> dict[str, Lease]:
    """Send what is unsent, and return the leases in it by worker."""
    return {
        worker_id: orders.lease
        for worker_id, orders in send_orders(now_s).items()
        if orders.lease is not None
    }


def find_attempt(key: str) -> Attempt:
    return Attempt.objects.select_related("trial").get(key=key)


def lease_one(workers: int = 1, **options: object) -> tuple[str, Lease]:
    """A fleet of equal workers, an experiment of one trial on the first, and its lease."""
    joined = [join().worker_id for _ in range(workers)]
    submit(joined[:1], trials=1, **options)  # type: ignore[arg-type]
    lease_trials(START_S)
    return joined[0], list_leases()[joined[0]]


def lease_again(worker_id: str, now_s: float = START_S) -> Lease:
    """Take one step of the coordinator and return what it leases to a worker."""
    step(now_s)
    return list_leases(now_s)[worker_id]


def run_to_the_end(now_s: float = START_S) -> None:
    """Let every worker complete what it is given until there is nothing more to do."""
    for _ in range(200):
        now_s += 1.0
        step(now_s)
        leases = list_leases(now_s)
        if not leases:
            return
        for worker_id, lease in leases.items():
            now_s += 1.0
            say(worker_id, tell_record(lease), now_s)
    raise AssertionError("the experiment does not end")
