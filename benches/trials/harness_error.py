"""What a harness adds to the wall time of a program that does nothing: ours beside hyperfine and perf stat.

In each round every harness measures the same copy of `/bin/true` once, in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from our_trials import OurTrials, write_collect_script

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table, spread


def main() -> None:
    """Measure in rounds and print medians, spreads and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as made:
        folder = Path(made)
        program = make_package(folder / "package")
        harnesses: dict[str, Callable[[], float]] = {"datamill-worker run-trial": OurTrials(folder)}
        absent = []
        if shutil.which("hyperfine"):
            harnesses["hyperfine -N --runs 1"] = lambda: time_hyperfine(program, folder, 1)[0]
        else:
            absent.append("hyperfine")
        if shutil.which("perf"):
            harnesses["perf stat -e duration_time"] = lambda: time_perf(program)
        else:
            absent.append("perf")
        for measure in harnesses.values():
            measure()
        observed: dict[str, list[float]] = {name: [] for name in harnesses}
        order = random.Random(1)
        for _ in range(rounds):
            for name in order.sample(list(harnesses), len(harnesses)):
                observed[name].append(harnesses[name]())
        if "hyperfine" not in absent:
            observed[f"hyperfine -N --runs {rounds}"] = time_hyperfine(program, folder, rounds)
    print(f"{describe_machine()}\n")
    print(f"/bin/true, {rounds} times with each, wall time as the harness reports it.\n")
    ours = spread(observed["datamill-worker run-trial"])[0]
    rows = []
    for name, values in observed.items():
        median, iqr, mad = spread([value * 1e6 for value in values])
        ratio = f"{median / (ours * 1e6):.2f}"
        rows.append([f"`{name}`", f"{median:.0f} µs", f"{iqr:.0f} µs", f"{mad:.0f} µs", ratio])
    print(format_table(["harness", "median", "IQR", "MAD", "median, ratio to ours"], rows))
    for name in absent:
        print(f"\nNot measured: {name} is not on this machine.")


def make_package(package: Path) -> Path:
    """A package whose `run.sh` is `/bin/true` itself, so that no shell stands in between."""
    package.mkdir()
    program = package / "run.sh"
    shutil.copyfile("/bin/true", program)
    write_collect_script(package)
    return program


def time_hyperfine(program: Path, folder: Path, count: int) -> list[float]:
    """Wall times in seconds."""
    result = folder / "hyperfine.json"
    command = ["hyperfine", "-N", "--runs", str(count), "--export-json", str(result), str(program)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    times: list[float] = json.loads(result.read_text(encoding="utf-8"))["results"][0]["times"]
    return times


def time_perf(program: Path) -> float:
    """Wall time in seconds; nothing else is counted."""
    command = ["perf", "stat", "-e", "duration_time", str(program)]
    environment = {**os.environ, "LC_ALL": "C"}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr
    match = re.search(r"([0-9.]+) seconds time elapsed", told)
    if match is None:
        raise SystemExit(f"perf stat did not tell the elapsed time:\n{told}")
    return float(match[1])


if __name__ == "__main__":
    main()
