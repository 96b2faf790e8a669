"""From the end of one trial's `run.sh` to the start of the next one's: ours beside BenchExec's runexec.

Ours: `datamill run` on a trivial package, a fresh world for each trial, confined as is usual for root.
Theirs: the same `run.sh` in a fresh container, as the command `runexec` called in a loop, and as its library
in one process; with an overlay over the script's folder alone, which costs it less than one over `/` would
(that needs fuse-overlayfs there).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import venv
from datetime import datetime
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table, spread

TARGET_S = 0.020
BIN = Path(sys.executable).parent
EXPERIMENT = """\
[experiment]
name = "clean-trial"
replicates = {replicates}
seed = 1
isolation = "confined"

[[package]]
name = "nothing"
path = "nothing"

[factors]
aslr = ["on", "off"]
"""
LIBRARY_LOOP = """\
import json, sys
from benchexec.containerexecutor import DIR_OVERLAY, DIR_READ_ONLY
from benchexec.runexecutor import RunExecutor

count, script, output = int(sys.argv[1]), sys.argv[2], sys.argv[3]
executor = RunExecutor(use_namespaces=True, dir_modes={"/": DIR_READ_ONLY, sys.argv[4]: DIR_OVERLAY})
spans = []
for _ in range(count):
    result = executor.execute_run([script], output)
    spans.append([result["starttime"].timestamp(), result["walltime"]])
print(json.dumps(spans))
"""

Spans = list[tuple[float, float]]


def main() -> None:
    """Measure ours, then theirs as far as it can be had, and print gaps between trials."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as made:
        folder = Path(made)
        observed = {"`datamill run`, confined": time_ours(folder, trials)}
        reason = ""
        try:
            runexec = install_runexec(folder / "benchexec")
            observed["`runexec`, a process each"] = time_runexec(runexec, folder, trials)
            observed["`runexec`, as a library"] = time_library(runexec.parent / "python", folder, trials)
        except RuntimeError as error:
            reason = str(error)
    print(f"{describe_machine()}\n")
    print(f"From the end of one trial's run.sh to the start of the next one's, {trials} trials.\n")
    rows = []
    for name, spans in observed.items():
        gaps = [1000 * (start - (before + time)) for (before, time), (start, _) in pairwise(spans)]
        median, iqr, mad = spread(gaps)
        rows.append([name, f"{median:.1f} ms", f"{iqr:.1f} ms", f"{mad:.1f} ms", f"{max(gaps):.1f} ms"])
        if name.startswith("`datamill"):
            ours = median / 1000
    print(format_table(["harness", "median", "IQR", "MAD", "longest"], rows))
    if reason:
        print(f"\nNot measured: runexec: {reason}")
    print(f"\nTarget: a median under {TARGET_S * 1000:.0f} ms: {'met' if ours < TARGET_S else 'missed'}.")


def time_ours(folder: Path, trials: int) -> Spans:
    """Start and wall time of each `run.sh` in seconds, from the records of a real experiment."""
    package = folder / "nothing"
    package.mkdir()
    (package / "run.sh").write_text("#!/bin/sh\n:\n", encoding="ascii")
    (package / "collect.sh").write_text(
        "#!/bin/sh\ntar -czf result.tar.gz run.sh\necho result.tar.gz\n", encoding="ascii"
    )
    for script in package.iterdir():
        script.chmod(0o755)
    experiment = folder / "experiment.toml"
    experiment.write_text(EXPERIMENT.format(replicates=-(-trials // 2)), encoding="ascii")
    bundle = folder / "bundle"
    done = subprocess.run(
        [BIN / "datamill", "run", experiment, "--out", bundle], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"datamill run failed:\n{done.stdout}{done.stderr}")
    spans = []
    for line in (bundle / "log.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["outcome"] != "completed" or record["isolation"]["kind"] != "confined":
            raise SystemExit(f"a trial was not measured in a confined world: {line}")

        spans.append((record["run"]["started_unix_ns"] / 1e9, record["run"]["wall_time_ns"] / 1e9))
    return spans


def install_runexec(folder: Path) -> Path:
    """BenchExec in a virtual environment that is thrown away."""
    venv.create(folder, with_pip=True)
    done = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "BenchExec"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"BenchExec cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    return folder / "bin" / "runexec"


def time_runexec(runexec: Path, folder: Path, trials: int) -> Spans:
    """As a user would call it in a loop."""
    spans = []
    package = folder / "nothing"
    modes = ["--read-only-dir", "/", "--overlay-dir", package]
    command = [
        runexec,
        "--quiet",
        *modes,
        "--output",
        folder / "out.log",
        "--",
        folder / "nothing" / "run.sh",
    ]
    for _ in range(trials):
        done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
        start = re.search(r"^starttime=(.+)$", done.stdout, re.MULTILINE)
        wall = re.search(r"^walltime=([0-9.]+)s$", done.stdout, re.MULTILINE)
        if "returnvalue=0" not in done.stdout or start is None or wall is None:
            raise RuntimeError(f"it cannot run here: {(done.stderr or done.stdout).strip()[-300:]}")
        spans.append((datetime.fromisoformat(start[1]).timestamp(), float(wall[1])))
    return spans


def time_library(python: Path, folder: Path, trials: int) -> Spans:
    """Its best case: one process for all trials."""
    package = folder / "nothing"
    command = [python, "-c", LIBRARY_LOOP, str(trials), package / "run.sh", folder / "out.log", package]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"its library cannot run here: {done.stderr.strip()[-300:]}")
    return [(start, wall) for start, wall in json.loads(done.stdout)]


if __name__ == "__main__":
    main()
