"""Made-up trial records and experiments, for whatever needs some without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from datamill.design.trials import build_design
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.trial import (
    BuildFacts,
    CompilerFacts,
    CounterFacts,
    FactorFacts,
    Failure,
    HostFacts,
    IsolationFacts,
    PhaseFacts,
    TrialRecord,
    TrialSpec,
    WorkerFacts,
)
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.bundle_head import BUNDLE_FORMAT, BundleHead, BundlePackage
from datamill.results.bundles.creating import create_bundle
from datamill.results.trials.record_checks import list_set_levels

EXPERIMENT = """
[experiment]
name = "synthetic"
replicates = 3
seed = 7
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[factors]
optimization = ["-O0", "-O2"]
aslr = ["on", "off"]
[responses.rate]
unit = "B/s"
formula = "(input_bytes - output_bytes) / wall_time_s"
direction = "higher"
"""


def make_phase(wall_time_ns: int = 1_000_000_000, **changes: Any) -> PhaseFacts:
    fields: dict[str, Any] = {
        "started_unix_ns": 1_700_000_000_000_000_000,
        "wall_time_ns": wall_time_ns,
        "user_time_ns": wall_time_ns // 2,
        "system_time_ns": wall_time_ns // 10,
        "peak_memory_bytes": 1 << 24,
        "peak_memory_floor_bytes": 1 << 20,
        "minor_faults": 100,
        "major_faults": 0,
        "voluntary_switches": 1,
        "involuntary_switches": 2,
        "exit_code": 0,
        "signal": None,
        "timed_out": False,
        "left_processes": 0,
        "stdout_bytes": 0,
        "stderr_bytes": 0,
        "output_truncated": False,
        "counters": (
            CounterFacts("cycles", None, "this machine has no such counter"),
            CounterFacts("page_faults", 100, ""),
        ),
    }
    return PhaseFacts(**(fields | changes))


def make_record(trial_id: str, attempt: int = 1, **changes: Any) -> TrialRecord:
    fields: dict[str, Any] = {
        "schema": 5,
        "experiment": "synthetic",
        "trial_id": trial_id,
        "attempt": attempt,
        "package": "a",
        "package_sha256": "0" * 64,
        "levels": {"optimization": "-O2", "aslr": "on"},
        "seed": 1,
        "worker": WorkerFacts("here", "0.1.0"),
        "host": HostFacts("x86_64", "6.1", "unknown", 2, 1 << 34, "boot"),
        "isolation": IsolationFacts("confined", ""),
        "started_unix_ns": 1_700_000_000_000_000_000,
        "ended_unix_ns": 1_700_000_001_000_000_000,
        "outcome": "completed",
        "failure": None,
        "build": BuildFacts(
            "b1", "fresh", False, None, CompilerFacts(1, 1, {"-O2": 1}, 1, 1, 1, 0, 1, {"gcc": 1}, 0)
        ),
        "run": make_phase(),
        "collect": make_phase(),
        "factors": (FactorFacts("aslr", "on", "on", "two addresses differ"),),
        "metrics": {"input_bytes": (1000.0,), "output_bytes": (400.0,)},
        "archive": None,
        "notices": (),
    }
    return TrialRecord(**(fields | changes))


def make_failed_record(trial_id: str, attempt: int = 1, kind: str = "exit_status") -> TrialRecord:
    failure = Failure("run", kind, "run.sh exited with status 3", "Mend run.sh.")  # type: ignore[arg-type]
    return make_record(
        trial_id,
        attempt,
        outcome="failed",
        failure=failure,
        run=make_phase(exit_code=3),
        collect=None,
        metrics={},
    )


def fit_record(record: TrialRecord, bundle: Bundle) -> TrialRecord:
    """Return a record with what its planned trial says of experiment, package, levels and seed."""
    trial = next(item for item in bundle.design.trials if item.trial_id == record.trial_id)
    package = next(item for item in bundle.head.packages if item.name == trial.package)
    return msgspec.structs.replace(
        record,
        experiment=bundle.experiment.name,
        package=trial.package,
        package_sha256=package.sha256,
        levels=list_set_levels(trial),
        seed=trial.seed,
    )


def answer_spec(record: TrialRecord, spec: TrialSpec) -> TrialRecord:
    """Return a record with what its specification says of experiment, package, levels and seed."""
    return msgspec.structs.replace(
        record,
        experiment=spec.experiment,
        package=spec.package.name,
        package_sha256=spec.package.sha256,
        levels=spec.levels,
        seed=spec.seed,
    )


def make_bundle_folder(folder: Path, text: str = EXPERIMENT) -> Bundle:
    """Make a bundle whose packages are empty files: enough for everything but running it."""
    experiment = parse_experiment(text, name="experiment.toml")
    archives = {}
    for package in experiment.packages:
        file = f"packages/{package.name}.tar.gz"
        archives[file] = folder.parent / f"{folder.name}-{package.name}.tar.gz"
        archives[file].write_bytes(b"")
    head = BundleHead(
        BUNDLE_FORMAT,
        "0.1.0",
        0,
        "experiment.toml",
        tuple(
            BundlePackage(package.name, f"packages/{package.name}.tar.gz", "0" * 64, 0, 2, True)
            for package in experiment.packages
        ),
    )
    design = build_design(experiment)
    return create_bundle(folder, text=text, design=design, head=head, archives=archives)
