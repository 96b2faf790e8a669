"""Tracing allocations: time of the processor, traced over untraced, beside tracemalloc.

Each program runs in turns with every way of looking at it, in random order; a ratio is of two executions that
follow each other, the number given their median with its interval at 95%, which assumes nothing of their
distribution. User time, so that other work on the machine hardly counts. The interpreter and the tracer are
placed anew in the kernel's page cache for each pair, since where they lie changes times. Name another
interpreter than the one that executes this: that stays where it is.

    python benches/allocators/allocators.py --python /usr/bin/python3.11 --pairs 7
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from scipy.stats import binom
from traced_programs import PROGRAMS

from datamill.allocators.ledger import plan_ledger
from datamill.execution.placing.page_cache import place_anew
from datamill.execution.tracing.traced_program import opening_ledger
from datamill.execution.tracing.tracer import LEDGER_VARIABLE, find_tracer

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

#: Ways of looking: whole stacks, or regions alone: the programs have no region, so the tracer stays off.
WAYS = {
    "counting": {"stacks": False, "regions": False},
    "stacks": {"stacks": True, "regions": False},
    "off": {"stacks": False, "regions": True},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", help="an interpreter; several times for several")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of executions of each")
    parser.add_argument("--program", action="append", choices=sorted(PROGRAMS))
    parser.add_argument("--no-tracemalloc", action="store_true")
    given = parser.parse_args()
    print(describe_machine())
    ways = [*WAYS, *([] if given.no_tracemalloc else ["tracemalloc"])]
    for python in given.python or [sys.executable]:
        version = subprocess.check_output([python, "--version"], text=True).strip()
        rows, all_ratios = [], {way: [] for way in ways}
        for name in given.program or PROGRAMS:
            base, ratios = measure(python, PROGRAMS[name], ways, given.pairs)
            for way in ways:
                all_ratios[way].append(statistics.median(ratios[way]))
            rows.append([name, f"{base:.2f} s", *(spell_median(ratios[way]) for way in ways)])
        rows.append(["median", "", *(f"{statistics.median(all_ratios[way]):.2f}" for way in ways)])
        print(f"\n{version}, median of {given.pairs} pairs\n")
        print(format_table(["program", "untraced", *ways], rows))
    return 0


def measure(python: str, program: str, ways: list[str], pairs: int) -> tuple[float, dict[str, list[float]]]:
    """Return the median time without a tracer, in seconds, and the ratios of each way."""
    ratios: dict[str, list[float]] = {way: [] for way in ways}
    bases = []
    programs = find_files(python)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(program, encoding="utf-8")
        for _ in range(pairs):
            for way in random.sample(ways, len(ways)):
                place_anew([*programs, find_tracer()])
                both = {looked: time(python, script, way if looked else "") for looked in draw_order()}
                ratios[way].append(both[True] / both[False])
                bases.append(both[False])
    return statistics.median(bases), ratios


def spell_median(ratios: list[float]) -> str:
    """Return a median with its interval at 95%, from the order of the ratios; that takes six of them."""
    median, ordered = statistics.median(ratios), sorted(ratios)
    outside = int(binom.ppf(0.025, len(ordered), 0.5))
    if outside == 0:
        return f"{median:.2f}"
    return f"{median:.2f} ({ordered[outside - 1]:.2f} to {ordered[-outside]:.2f})"


def find_files(python: str) -> list[Path]:
    """Return the files of an interpreter's code: its program, and its library where it has one."""
    program = Path(shutil.which(python) or python).resolve()
    listed = subprocess.check_output(["ldd", str(program)], text=True).split()
    return [program, *(Path(word).resolve() for word in listed if "/libpython" in word)]


def draw_order() -> list[bool]:
    return random.sample([True, False], 2)


def time(python: str, script: Path, way: str) -> float:
    """Return the user time of one execution, in seconds."""
    if way not in WAYS:
        return run([python, *(["-X", "tracemalloc"] if way else []), str(script)], {})
    plan = plan_ledger(**WAYS[way])
    with opening_ledger(plan.header, plan.size) as (path, _):
        return run([python, str(script)], {"LD_PRELOAD": str(find_tracer()), LEDGER_VARIABLE: str(path)})


def run(command: list[str], settings: dict[str, str]) -> float:
    process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
    return usage.ru_utime


if __name__ == "__main__":
    sys.exit(main())
