"""The files that README and `docs/` name, made once: tables, bundles, results of other tools, programs."""

from __future__ import annotations

import json
import shutil
import string
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
from acceptance.conftest import Command
from faces.documents import ROOT
from made.synthetic import fit_record, make_bundle_folder, make_phase, make_record

from datamill.protocol.trial import BuildFacts, CompilerFacts

FOREIGN = ROOT / "tests" / "foreign"
SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
PILOT = """
[experiment]
name = "pilot"
seed = 7
[replication]
builds = 6
executions = 3
measurements = 20
warmup = 5
[[package]]
name = "gcc-12"
path = "a"
[[package]]
name = "gcc-13"
path = "b"
[responses.op]
unit = "ms"
formula = "op_ms"
direction = "lower"
"""
#: Two commands that end at once, to have a bundle of trials that ran.
MEASURED = """
[experiment]
name = "measured"
replicates = 2
seed = 3
[[package]]
name = "one"
command = "true"
directory = ""
[[package]]
name = "two"
command = "sleep 0.01"
directory = ""
"""
#: Results of other tools, by the names that pages give them.
RESULTS = {"results.json": "hyperfine.json", "old.txt": "go.txt"}
PROGRAM = """
int main(int count, char **words) {
  int s = 0;
  for (int i = 0; i < 99 * count; i++) s ^= i * FACTOR;
  return s == 1;
}
"""


def make_shown_files(folder: Path) -> None:
    """Make what the pages name, in a folder that is there."""
    make_pilot(folder / "pilot-bundle")
    for name, versions in (("pilot", 1), ("old", 1), ("new", 1), ("nightly", 6)):
        draw_measurements(versions).write_csv(folder / f"{name}.csv")
    for name, source in RESULTS.items():
        shutil.copy(FOREIGN / source, folder / name)
    # Other runs: with the same content they would be copies, which are refused.
    (folder / "new.txt").write_text((FOREIGN / "go.txt").read_text().replace("1 ", "2 "))
    for name, pace in (("before", 1.0), ("after", 1.1)):
        times = np.random.default_rng(len(name)).normal(pace, 0.02, 10).tolist()
        told = {"command": "./sort", "times": times, "exit_codes": [0] * len(times)}
        (folder / f"{name}.json").write_text(json.dumps({"results": [told]}))
    draw_latencies().write_parquet(folder / "table.parquet")
    draw_sizes().write_csv(folder / "sizes.csv")
    write_scores(folder)
    # Levels of gzip differ much on it, so that a timing is over soon.
    letters = np.random.default_rng(2).choice(list("acgt"), 60_000)
    (folder / "f").write_text("".join(letters))
    (folder / "script.py").write_text("kept = []\nfor number in range(1000):\n    kept.append(number)\n")
    (folder / "studies").symlink_to(ROOT / "studies")


def make_measured_bundle(folder: Path, datamill: Command) -> None:
    """A bundle of trials that ran here."""
    (datamill.folder / "measured.toml").write_text(MEASURED)
    ran = datamill("run", "measured.toml", "--out", folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def compile_programs(folder: Path) -> None:
    """Two versions of a program, and the later one by itself."""
    for name, factor in (("old", 3), ("new", 5)):
        (folder / name).mkdir()
        (folder / name / "program.c").write_text(PROGRAM)
        subprocess.run(
            ["gcc", "-O1", f"-DFACTOR={factor}", "-o", "program", "program.c"], cwd=folder / name, check=True
        )
    shutil.copy(folder / "new" / "program", folder / "program")


def write_scores(folder: Path) -> None:
    """Times of a suite's six benchmarks on eight machines, and of an application on five of them."""
    random = np.random.default_rng(18)
    speeds = np.exp(random.normal(size=(8, 2)) * (0.5, 0.4))
    shares = random.uniform(0.1, 0.9, 7)
    times = 100 * (shares / speeds[:, :1] + (1 - shares) / speeds[:, 1:])
    times *= np.exp(0.01 * random.normal(size=times.shape))
    machines = string.ascii_lowercase[:8]
    pl.DataFrame(
        [
            (machine, f"b{place}", times[row, place])
            for row, machine in enumerate(machines)
            for place in range(6)
        ],
        schema=["machine", "benchmark", "seconds"],
        orient="row",
    ).write_csv(folder / "scores.csv")
    pl.DataFrame({"machine": list(machines[:5]), "seconds": times[:5, 6]}).write_csv(folder / "times.csv")


def draw_latencies() -> pl.DataFrame:
    """Latencies of two schedulers on two machines."""
    random = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "sched": ["fifo", "other"] * 400,
            "machine": ["amber"] * 400 + ["beryl"] * 400,
            "latency_us": random.gamma(3, 10, 800),
        }
    )


def write_fleet_tables(folder: Path) -> None:
    """What `datamill fetch --tables` brings of experiment 3: two levels of optimisation on two machines."""
    random = np.random.default_rng(4)
    rows = [
        {
            "trial_id": f"{optimization}-{machine}-{trial}",
            "package": "a",
            "response": "wall_time",
            "unit": "s",
            "value": pace + random.normal(0, 0.1),
            "valid": True,
            "levels": [
                {"key": "optimization", "value": optimization},
                {"key": "machine", "value": machine},
            ],
            "context": [{"key": "cpu_model", "value": "EPYC"}],
        }
        for optimization, pace in (("-O0", 2.0), ("-O2", 1.0))
        for machine in ("amber", "beryl")
        for trial in range(6)
    ]
    part = folder / "experiment=3"
    part.mkdir(parents=True)
    pl.DataFrame(rows).write_parquet(part / "part.parquet")


def draw_sizes() -> pl.DataFrame:
    """Times of two packages by the size of their input."""
    rows = [
        (package, f"{size}MB", size * pace + draw)
        for package, pace in (("xz", 0.5), ("bzip2", 0.2))
        for size in (100, 150, 200)
        for draw in np.random.default_rng(size).normal(0, 1, 8)
    ]
    return pl.DataFrame(rows, schema=["package", "size", "seconds"], orient="row")


def draw_measurements(versions: int) -> pl.DataFrame:
    random = np.random.default_rng(versions)
    rows = [
        (f"v{version}", f"v{version}", build, execution, measurement, value, value, "ms")
        for version in range(versions)
        for build, own in enumerate(random.normal(10, 0.2, 10))
        for execution in range(4)
        for measurement, value in enumerate(random.normal(own, 0.4, 12))
    ]
    names = ["version", "commit", "build", "execution", "measurement", "value", "seconds", "unit"]
    return pl.DataFrame(rows, schema=names, orient="row")


def make_pilot(folder: Path) -> None:
    """A bundle of two versions: six builds of each, three executions of a build."""
    made = make_bundle_folder(folder, PILOT)
    random = np.random.default_rng(5)
    compiler = CompilerFacts(1, 1, {"-O2": 1}, 1, 1, 1, 0, 1, {"gcc": 1}, 0)
    levels = {(package, build): random.normal(10, 0.3) for package in "ab" for build in range(1, 7)}
    records = []
    for number, trial in enumerate(made.design.trials):
        taken = max(1, trial.measurements + trial.warmup)
        values = levels["ab"[trial.package == "gcc-13"], trial.build] + random.normal(0, 0.3, taken)
        begun = START + number * 10 * SECOND
        records.append(
            make_record(
                trial.trial_id,
                started_unix_ns=begun,
                ended_unix_ns=begun + SECOND,
                run=make_phase(SECOND // 2 + taken * SECOND // 100),
                build=BuildFacts(
                    f"{trial.package}-{trial.build}", "shared", True, make_phase(4 * SECOND), compiler
                ),
                factors=(),
                metrics={"op_ms": tuple(values.tolist())},
            )
        )
    made.append_records([fit_record(record, made) for record in records])
    made.write_table(made.read_records())
