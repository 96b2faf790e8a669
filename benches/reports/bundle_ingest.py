"""How long 100 000 trial records take from the log to the tidy table on disk."""

from __future__ import annotations

import argparse
import dataclasses
import gc
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datamill.design.design import Design, PlannedTrial
from datamill.design.trials import build_design
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.trial import (
    ArchiveFacts,
    BuildFacts,
    CompilerFacts,
    CounterFacts,
    FactorFacts,
    HostFacts,
    IsolationFacts,
    PhaseFacts,
    TrialRecord,
    WorkerFacts,
)
from datamill.results.bundles.bundle_head import BUNDLE_FORMAT, BundleHead
from datamill.results.bundles.creating import create_bundle
from datamill.results.bundles.opening import open_bundle
from datamill.results.trials.log import append_records

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

TARGET_S = 5.0
STUDY = Path(__file__).resolve().parents[2] / "studies" / "xz-vs-bzip2" / "experiment.toml"


def main() -> None:
    """Make a bundle, append synthetic records, read them, table them; print the time of each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    wanted = parser.parse_args().records
    text = STUDY.read_text(encoding="utf-8")
    question = parse_experiment(text, name=str(STUDY))
    points = build_design(question).points
    experiment = dataclasses.replace(question, replicates=-(-wanted // points))
    design = build_design(experiment)
    records = make_records(design, wanted)
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as folder:
        head = BundleHead(BUNDLE_FORMAT, "0", 0, "experiment.toml", ())
        made = create_bundle(Path(folder, "bundle"), text=text, design=design, head=head, archives={})
        with timed("append all to the log, flushed once", times):
            append_records(made.log_file, records)
        del records
        gc.collect()
        with timed("open the bundle", times):
            bundle = open_bundle(made.folder)
        with timed("read and check the log", times):
            read = bundle.read_records()
        with timed("build the table and write it", times):
            table = bundle.write_table(read)
        log_mb = made.log_file.stat().st_size / 1e6
    if len(read) != wanted:
        raise SystemExit(f"{len(read)} records came back of {wanted}")
    total = sum(times.values())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{describe_machine()}\n\n{wanted:,} records, {log_mb:.0f} MB of log, {table.height:,} rows.\n")
    rows = [[step, f"{seconds:.2f} s"] for step, seconds in times.items()]
    rows.append(["all", f"{total:.2f} s"])
    print(format_table(["step", "time"], rows))
    verdict = "met" if total < TARGET_S else "missed"
    print(f"\nTarget: under {TARGET_S:.0f} s: {verdict}. Peak memory {memory:.0f} MiB.")


@contextmanager
def timed(step: str, times: dict[str, float]) -> Iterator[None]:
    """Note the time that a step takes."""
    start = time.perf_counter()
    yield
    times[step] = time.perf_counter() - start


def make_records(design: Design, count: int) -> list[TrialRecord]:
    """As many records as wanted, of the size and shape that a real trial of the study leaves."""
    draw = random.Random(1)
    return [make_record(trial, draw, number) for number, trial in enumerate(design.trials[:count])]


def make_record(trial: PlannedTrial, draw: random.Random, number: int) -> TrialRecord:
    """A record of a completed trial."""
    start = 1_700_000_000_000_000_000 + number * 500_000_000
    levels = {name: level for name, level in trial.levels.items() if name != "package"}
    run = make_phase(draw, start, draw.randrange(80_000_000, 900_000_000), is_run=True)
    compiler = CompilerFacts(
        158, 148, {"-O2": 148}, 148, 2, 2, 2, 2, {"/usr/bin/cc": 150, "/usr/bin/ar": 8}, 0
    )
    return TrialRecord(
        schema=2,
        experiment="xz-vs-bzip2",
        trial_id=trial.trial_id,
        attempt=1,
        package=trial.package,
        package_sha256="0" * 64,
        levels=levels,
        seed=trial.seed,
        worker=WorkerFacts("bench", "0.1.0"),
        host=HostFacts("x86_64", "6.18.0", "a processor with a long name", 2, 16 << 30, "0" * 36),
        isolation=IsolationFacts("confined", ""),
        started_unix_ns=start,
        ended_unix_ns=start + run.wall_time_ns + 20_000_000,
        outcome="completed",
        failure=None,
        build=BuildFacts("a" * 32, "shared", True, make_phase(draw, start, 9_000_000_000), compiler),
        run=run,
        collect=make_phase(draw, start + run.wall_time_ns, 8_000_000),
        factors=tuple(
            FactorFacts(name, level, level, "read back by the bench") for name, level in levels.items()
        ),
        metrics={"input_bytes": (1218560.0,), "output_bytes": (420832.0,)},
        archive=ArchiveFacts("results.tar.gz", 251, "0" * 64),
        notices=(),
    )


def make_phase(draw: random.Random, start: int, wall_time_ns: int, *, is_run: bool = False) -> PhaseFacts:
    """A phase of a machine without hardware counters, of which `run.sh` alone tells the reason."""
    missing = "this machine has no hardware counters"
    hardware = ("cycles", "instructions", "cache_references", "cache_misses", "branches", "branch_misses")
    software = ("context_switches", "cpu_migrations", "page_faults", "task_clock_ns")
    counters = [CounterFacts(name, None, missing) for name in hardware] if is_run else []
    counters += [CounterFacts(name, draw.randrange(1 << 30), "") for name in software]
    return PhaseFacts(
        started_unix_ns=start,
        wall_time_ns=wall_time_ns,
        user_time_ns=wall_time_ns,
        system_time_ns=9_000_000,
        peak_memory_bytes=100 << 20,
        peak_memory_floor_bytes=1 << 20,
        minor_faults=2500,
        major_faults=0,
        voluntary_switches=3,
        involuntary_switches=12,
        exit_code=0,
        signal=None,
        timed_out=False,
        left_processes=0,
        stdout_bytes=0,
        stderr_bytes=0,
        output_truncated=False,
        counters=tuple(counters),
    )


if __name__ == "__main__":
    main()
