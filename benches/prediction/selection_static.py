"""Static analysis of a program and of a pair with all features, beside objdump and nm: CPU time, one thread.

    python benches/prediction/selection_static.py OLD NEW

The targets were set for a static git: 25 ms for one program, 60 ms for a pair whose older table is known.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from datamill.conduct.selection.read_program import read_program
from datamill.selection.changes.table_changes import compare_tables
from datamill.selection.features.vector import read_features
from datamill.selection.indicators.evidence import Evidence
from datamill.selection.profiles.profile import FunctionCounts, Profile
from datamill.selection.tables.function_table import FunctionTable

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

ROUNDS = 7


def measure(work: Callable[[], object]) -> float:
    """Least CPU time in ms."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def measure_tool(*command: str) -> float:
    """Least CPU time in ms of a process."""
    times = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1e3 * min(times)


def draw_profile(table: FunctionTable) -> Profile:
    """A benchmark that reaches a sixth of the functions."""
    draw = random.Random(1)
    reached = draw.sample(table.functions, len(table.functions) // 6)
    counts = {item.name: FunctionCounts(draw.randrange(1000), draw.randrange(10**6)) for item in reached}
    return Profile("drawn", "drawn", counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    asked = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = "1"
    old = read_program(asked.old)
    profile = draw_profile(old)

    def compare() -> object:
        return read_features(Evidence(compare_tables(old, read_program(asked.new)), profile))

    rows = [
        ("objdump -d", f"{measure_tool('objdump', '-d', str(asked.new)):.0f}"),
        ("nm -S", f"{measure_tool('nm', '-S', str(asked.new)):.0f}"),
        ("one program", f"{measure(lambda: read_program(asked.new)):.0f}"),
        ("a pair with all features, the older table known", f"{measure(compare):.0f}"),
    ]
    print(describe_machine())
    instructions = sum(function.instructions for function in old.functions)
    print(f"{len(old.functions)} functions, {instructions} instructions\n")
    print(format_table(("what", "ms of CPU"), rows))


if __name__ == "__main__":
    main()
