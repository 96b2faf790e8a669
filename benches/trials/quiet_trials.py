"""How much equal trials differ under each harness: a program of 100 ms that only computes.

In each round every harness measures the same program once, in random order, so that whatever the machine
does meets all of them alike. Ours beside hyperfine, pyperf (`pyperf command`; `pyperf system tune` was tried
before) and BenchExec's runexec.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from our_trials import OurTrials, write_collect_script

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table, spread

#: Integer work that touches no memory; the count is set so that it takes about 100 ms.
PROGRAM = """\
#include <stdint.h>
#include <stdio.h>
int main(void) {
    uint64_t state = 88172645463325252u;
    for (long i = 0; i < %d; i++) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; }
    return state == 0;
}
"""
TRIED = 10_000_000
WANTED_S = 0.1
BOOTSTRAPS = 9999


def main() -> None:
    """Measure in rounds and print spreads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as made:
        folder = Path(made)
        program = make_package(folder / "package")
        harnesses: dict[str, Callable[[], float]] = {
            "`datamill-worker run-trial`, confined": OurTrials(folder, isolation="confined"),
            "`datamill-worker run-trial`, plain": OurTrials(folder),
        }
        absent = add_peers(harnesses, program, folder)
        for measure in harnesses.values():
            measure()
        observed: dict[str, list[float]] = {name: [] for name in harnesses}
        order = random.Random(1)
        try:
            for _ in range(rounds):
                for name in order.sample(list(harnesses), len(harnesses)):
                    observed[name].append(harnesses[name]())
        finally:
            tune_system(folder, "reset")
    print(f"{describe_machine()}\n")
    print(f"A program that computes for about 100 ms, {rounds} times with each, interleaved; wall time.\n")
    rows = []
    for name, values in observed.items():
        median, iqr, mad = spread([value * 1e3 for value in values])
        variation = statistics.stdev(values) / statistics.mean(values)
        relative = f"{100 * iqr / median:.2f}%"
        rows.append(
            [name, f"{median:.2f} ms", f"{iqr:.2f} ms", relative, f"{mad:.2f} ms", f"{100 * variation:.2f}%"]
        )
    header = ["harness", "median", "IQR", "IQR / median", "MAD", "coefficient of variation"]
    print(format_table(header, rows))
    print(f"\nSpread over that of the harness with the least ({BOOTSTRAPS} bootstrap samples of rounds):\n")
    print(format_table(["harness", "IQR / median", "coefficient of variation"], compare_spreads(observed)))
    for reason in absent:
        print(f"\nNot measured: {reason}.")


def compare_spreads(observed: dict[str, list[float]]) -> list[list[str]]:
    """IQR and coefficient of variation of each harness as ratios to the best one's, with 95% intervals.

    Rounds are drawn with replacement, all harnesses together, since what the machine did in a round met all
    of them. The best one is that of all rounds; an interval that holds 1 does not tell a harness from it.
    """
    names = list(observed)
    values = np.array([observed[name] for name in names])
    rounds = values.shape[1]
    drawn = np.random.default_rng(1).integers(0, rounds, (BOOTSTRAPS, rounds))
    cells = []
    for measure in (find_iqr, find_variation):
        spreads = np.array([measure(row) for row in values])
        best = int(np.argmin(spreads))
        again = np.array([measure(row[drawn]) for row in values])
        low, high = np.quantile(again / again[best], (0.025, 0.975), axis=1)
        cells.append(
            [
                "1 (the least)"
                if index == best
                else f"{spreads[index] / spreads[best]:.2f} ({low[index]:.2f} to {high[index]:.2f})"
                for index in range(len(names))
            ]
        )
    return [[name, *(column[index] for column in cells)] for index, name in enumerate(names)]


def find_iqr(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of the quartiles over the median, as in the table, along the last axis."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=-1)
    return np.asarray((high - low) / middle)


def find_variation(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation over the mean along the last axis."""
    return np.asarray(np.std(values, axis=-1, ddof=1) / np.mean(values, axis=-1))


def make_package(package: Path) -> Path:
    """A package whose `run.sh` is the program itself, sized for this machine."""
    package.mkdir()
    program = package / "run.sh"
    compile_program(program, TRIED)
    fastest = min(time_program(program) for _ in range(10))
    compile_program(program, int(TRIED * WANTED_S / fastest))
    write_collect_script(package)
    return program


def compile_program(program: Path, count: int) -> None:
    """Compile the work with so many rounds."""
    source = PROGRAM % count
    subprocess.run(["cc", "-O2", "-x", "c", "-o", program, "-"], input=source, text=True, check=True)


def time_program(program: Path) -> float:
    """User time of one execution in seconds, as the shell's `times` tells it."""
    script = f"{program}; times"
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    minutes, seconds = re.findall(r"(\d+)m([0-9.]+)s", told)[2]
    return max(60 * int(minutes) + float(seconds), 1e-3)


def add_peers(harnesses: dict[str, Callable[[], float]], program: Path, folder: Path) -> list[str]:
    """Add the peers that can be had; return why the others cannot."""
    absent = []
    if shutil.which("hyperfine"):
        harnesses["`hyperfine -N --runs 1`"] = lambda: time_hyperfine(program, folder)
    else:
        absent.append("hyperfine is not on this machine")
    peers = folder / "peers"
    venv.create(peers, with_pip=True)
    install = [peers / "bin" / "python", "-m", "pip", "install", "--quiet", "pyperf", "BenchExec"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [*absent, f"pyperf and BenchExec cannot be installed: {done.stderr.strip().splitlines()[-1]}"]
    tune_system(folder, "tune")
    harnesses["`pyperf command`"] = lambda: time_pyperf(peers / "bin" / "python", program, folder)
    harnesses["`runexec`"] = lambda: time_runexec(peers / "bin" / "runexec", program, folder)
    for name in ("`pyperf command`", "`runexec`"):
        try:
            harnesses[name]()
        except RuntimeError as error:
            del harnesses[name]
            absent.append(str(error))
    return absent


def tune_system(folder: Path, action: str) -> None:
    """Let pyperf tune this machine or take that back, as far as it can; unknown where it is not installed."""
    python = folder / "peers" / "bin" / "python"
    if python.exists():
        subprocess.run([python, "-m", "pyperf", "system", action], capture_output=True, check=False)


def time_hyperfine(program: Path, folder: Path) -> float:
    """Wall time in seconds."""
    result = folder / "hyperfine.json"
    command = ["hyperfine", "-N", "--runs", "1", "--export-json", result, program]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return float(json.loads(result.read_text(encoding="utf-8"))["results"][0]["times"][0])


def time_pyperf(python: Path, program: Path, folder: Path) -> float:
    """Wall time in seconds: one process, one value, no warm-up, as `pyperf command` measures it."""
    result = folder / "pyperf.json"
    result.unlink(missing_ok=True)
    options = ["--processes", "1", "--values", "1", "--warmups", "0", "--loops", "1", "--quiet"]
    command = [python, "-m", "pyperf", "command", *options, "--output", result, "--", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"pyperf cannot run here: {done.stderr.strip()[-300:]}")
    runs = json.loads(result.read_text(encoding="utf-8"))["benchmarks"][0]["runs"]
    return float(next(run["values"][0] for run in runs if run.get("values")))


def time_runexec(runexec: Path, program: Path, folder: Path) -> float:
    """Wall time in seconds."""
    modes = ["--read-only-dir", "/", "--overlay-dir", program.parent]
    command = [runexec, "--quiet", *modes, "--output", folder / "out.log", "--", program]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, check=False)
    wall = re.search(r"^walltime=([0-9.]+)s$", done.stdout, re.MULTILINE)
    if "returnvalue=0" not in done.stdout or wall is None:
        raise RuntimeError(f"runexec cannot run here: {(done.stderr or done.stdout).strip()[-300:]}")
    return float(wall[1])


if __name__ == "__main__":
    main()
