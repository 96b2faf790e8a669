"""`datamill selection predict` from its start to its end, in a repository whose predictor was trained.

    python benches/prediction/selection_predict.py REPOSITORY COMMIT

The commit must have been collected: its tables and the older version's are then read, nothing is built.
The target was 150 ms.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

ROUNDS = 21


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("commit")
    asked = parser.parse_args()
    program = shutil.which("datamill") or str(Path(sys.executable).with_name("datamill"))
    command = [program, "selection", "predict", asked.commit, "--json", "--repo", str(asked.repository)]
    walls, processors = [], []
    for _ in range(ROUNDS):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        told = subprocess.run(command, check=True, capture_output=True)
        walls.append(1e3 * (time.perf_counter() - start))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        processors.append(1e3 * spent)
    found = json.loads(told.stdout)
    print(describe_machine())
    print(f"{len(found['predictions'])} benchmarks, {ROUNDS} times\n")
    rows = [
        ("wall time", f"{min(walls):.0f}", f"{statistics.median(walls):.0f}"),
        ("CPU time, git included", f"{min(processors):.0f}", f"{statistics.median(processors):.0f}"),
    ]
    print(format_table(("", "least, ms", "median, ms"), rows))


if __name__ == "__main__":
    main()
