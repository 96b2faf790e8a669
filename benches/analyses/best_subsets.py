"""Best subsets of predictors beside R's leaps, and how many sets of machines are searched in a second."""

from __future__ import annotations

import argparse
import itertools
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from anova import run_peer
from numpy.typing import NDArray

from datamill.platforms.subsets.best_subsets import best_of_each_column, best_subsets

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

ROWS, PREDICTORS = 15, 27
#: Largest subsets, and how often each is searched.
SIZES = {3: 201, 5: 201, 8: 21}
#: Seconds: subsets of up to 5 predictors; all sets of 3 to 14 machines, each of 27 benchmarks in turn.
SEARCH_TARGET_S, EVALUATION_TARGET_S = 2e-4, 300.0
#: One fit is below the clock's step; several are timed together.
LEAPS_SCRIPT = """
suppressPackageStartupMessages(library(leaps))
a <- commandArgs(TRUE); k <- as.integer(a[2:5])
d <- matrix(readBin(a[1], "double", k[1] * (k[2] + 1)), k[1], byrow = TRUE)
x <- d[, -1]; y <- d[, 1]
fit <- function() f <<- regsubsets(x, y, nvmax = k[3], method = "exhaustive")
fit()
together <- if (k[3] < 8) 20 else 2
clock <- function() as.numeric(Sys.time())
took <- replicate(k[4], { t <- clock(); for (i in seq_len(together)) fit(); (clock() - t) / together })
cat(sprintf("%.17g", c(median(took), summary(f)$rss)), "\\n")
"""


def main() -> None:
    """Make times like a suite's, search everything, print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=6, help="sets of machines of each size that are timed")
    arguments = parser.parse_args()
    print(describe_machine() + "\n")
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as made:
        print(compare_searches(Path(made, "table.bin")) + "\n")
    print(time_evaluation(arguments.sets))


def make_times(columns: int, seed: int) -> NDArray[np.float64]:
    """Seconds of machines × benchmarks: a factor that all share, and some of their own."""
    rng = np.random.default_rng(seed)
    return 1000 * np.exp(rng.normal(0, 0.6, (ROWS, 1)) + rng.normal(0, 0.15, (ROWS, columns)))


def compare_searches(file: Path) -> str:
    """Table of one search of subsets of up to so many predictors, here and by leaps, on the same numbers."""
    table = make_times(PREDICTORS + 1, seed=4)
    table.tofile(file)
    predictors, response = np.ascontiguousarray(table[:, 1:]), np.ascontiguousarray(table[:, 0])
    rows, notes = [], []
    for largest, times in SIZES.items():
        ours = measure(partial(best_subsets, predictors, response, largest=largest), times)
        found = best_subsets(predictors, response, largest=largest).rss[0]
        rows.append([f"up to {largest}", "datamill", spell(ours), "1.00"])
        answer = ask_leaps(file, largest, max(5, times // 10))
        if answer:
            took, *of_leaps = answer
            off = np.abs(np.array(of_leaps) / found - 1).max()
            rows.append([f"up to {largest}", "R leaps", spell(took), f"{took / ours:.3g}"])
            notes.append(f"up to {largest}: RSS differs by {off:.1g}, relative")
        else:
            rows.append([f"up to {largest}", "R leaps", "not installed", ""])
        if largest == 5:
            notes.append(
                f"target of {spell(SEARCH_TARGET_S)}: {'met' if ours <= SEARCH_TARGET_S else 'missed'}"
            )
    heading = f"best of each size, {PREDICTORS} predictors, {ROWS} machines"
    return f"{format_table([heading, 'by', 'wall', 'ratio'], rows)}\n\n{'; '.join(notes)}."


def time_evaluation(sets: int) -> str:
    """Table of the searches that Figure 7.6 needs, extrapolated from some sets of machines of each size."""
    table = make_times(PREDICTORS, seed=5)
    rng = np.random.default_rng(6)
    rows, total = [], 0.0
    for count in range(3, ROWS):
        every = list(itertools.combinations(range(ROWS), count))
        chosen = [np.array(every[place]) for place in rng.permutation(len(every))[: max(sets, 2)]]
        began = time.perf_counter()
        best_of_each_column(table, chosen)
        each = (time.perf_counter() - began) / len(chosen)
        whole = each * math.comb(ROWS, count)
        total += whole
        rows.append([str(count), str(len(every)), spell(each), spell(whole)])
    verdict = "met" if total <= EVALUATION_TARGET_S else "missed"
    heading = ["machines", "sets", "one set, 27 benchmarks in turn, both criteria", "all sets"]
    note = f"All sets: {spell(total)}, target {EVALUATION_TARGET_S:.0f} s: {verdict}."
    return f"{format_table(heading, rows)}\n\n{note}"


def ask_leaps(file: Path, largest: int, times: int) -> list[float]:
    """Median seconds of one call, and RSS by size; nothing without R and leaps."""
    if not shutil.which("Rscript"):
        return []
    numbers = [str(number) for number in (ROWS, PREDICTORS, largest, times)]
    lines = run_peer(["Rscript", "--vanilla", "-e", LEAPS_SCRIPT, str(file), *numbers])
    return [float(number) for number in lines[0].split()] if lines else []


def measure(work: Callable[[], object], times: int) -> float:
    """Median wall seconds, after one go that does not count."""
    work()
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def spell(seconds: float) -> str:
    """In milliseconds below a second."""
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


if __name__ == "__main__":
    main()
