"""Variances of builds, executions and measurements, and bootstrap comparisons, beside lme4 and numpy."""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from anova import run_peer
from numpy.typing import NDArray

from datamill import _native

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

SIZES = ((30, 25, 100), (150, 100, 100))
#: Bootstrap comparisons of two versions, each with the first of the sizes.
DRAWS = 10_000
#: Targets in seconds: estimators of the first size, and all comparisons.
ESTIMATE_TARGET_S, COMPARE_TARGET_S = 5e-5, 1.0
LMER_SCRIPT = """
suppressPackageStartupMessages(library(lme4))
a <- commandArgs(TRUE); k <- as.integer(a[2:5])
y <- readBin(a[1], "double", k[1] * k[2] * k[3])
d <- data.frame(value = y, build = factor(rep(seq_len(k[1]), each = k[2] * k[3])),
                execution = factor(rep(seq_len(k[1] * k[2]), each = k[3])))
fit <- function() m <<- lmer(value ~ 1 + (1 | build / execution), d)
took <- replicate(k[4], { gc(); system.time(fit())[["elapsed"]] })
v <- as.data.frame(VarCorr(m))
of <- function(level) v$vcov[v$grp == level]
cat(sprintf("%.17g", c(median(took), fixef(m), of("build"), of("execution:build"), of("Residual"))), "\\n")
"""
BOOTMER_SCRIPT = """
suppressPackageStartupMessages(library(lme4))
a <- commandArgs(TRUE); k <- as.integer(a[2:5])
n <- 2 * k[1] * k[2] * k[3]
d <- data.frame(value = readBin(a[1], "double", n), version = factor(rep(1:2, each = n / 2)),
                build = factor(rep(seq_len(2 * k[1]), each = k[2] * k[3])),
                execution = factor(rep(seq_len(2 * k[1] * k[2]), each = k[3])))
m <- lmer(value ~ version + (1 | build / execution), d)
took <- system.time(bootMer(m, function(fit) fixef(fit)[[2]], nsim = k[4]))
cat(took[["elapsed"]] / k[4], "\\n")
"""


@dataclass(frozen=True, slots=True)
class Nested:
    """Values of l builds, m executions of each and n measurements, as a box and with offsets."""

    box: NDArray[np.float64]
    executions: NDArray[np.int64]
    builds: NDArray[np.int64]

    @property
    def values(self) -> NDArray[np.float64]:
        """All of them, one after the other."""
        return self.box.reshape(-1)


def main() -> None:
    """Make nested data, time everything, print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="fits of lme4 of each size")
    parser.add_argument("--replicates", type=int, default=5, help="replicates of lme4's bootMer")
    arguments = parser.parse_args()
    print(describe_machine() + "\n")
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as made:
        file = Path(made, "values.bin")
        print(compare_estimators(file, arguments.times) + "\n")
        print(compare_bootstraps(file, arguments.replicates))


def make_nested(size: tuple[int, int, int], seed: int, mean: float = 100.0) -> Nested:
    """Normal at all three levels, with standard deviations of 3, 2 and 5."""
    builds, executions, measurements = size
    rng = np.random.default_rng(seed)
    box = mean + rng.normal(0, 3, (builds, 1, 1)) + rng.normal(0, 2, (builds, executions, 1))
    return Nested(
        box + rng.normal(0, 5, size),
        np.arange(0, builds * executions * measurements + 1, measurements),
        np.arange(0, builds * executions + 1, executions),
    )


def compare_estimators(file: Path, times: int) -> str:
    """Table of the mean and the three variances here, by numpy and by lme4."""
    rows, notes = [], []
    for size in SIZES:
        data = make_nested(size, seed=1)
        ours = measure(partial(estimate, data))
        by_numpy = measure(partial(estimate_with_numpy, data))
        found = np.array(estimate(data))
        off = np.abs(estimate_with_numpy(data) / found - 1).max()
        name = "×".join(map(str, size))
        rows.append([name, "datamill", spell(ours), "1.00"])
        rows.append([name, "numpy, balanced data only", spell(by_numpy), f"{by_numpy / ours:.3g}"])
        data.values.tofile(file)
        answer = ask_r(LMER_SCRIPT, file, size, times)
        if answer:
            by_lme4, *of_lme4 = answer
            rows.append([name, "lme4 lmer (REML)", spell(by_lme4), f"{by_lme4 / ours:.3g}"])
            notes.append(
                f"{name}: numpy differs by {off:.1g}, lme4 by {np.abs(of_lme4 / found - 1).max():.1g}"
            )
        else:
            rows.append([name, "lme4", "not installed", ""])
            notes.append(f"{name}: numpy differs by {off:.1g}")
        if size == SIZES[0]:
            verdict = "met" if ours <= ESTIMATE_TARGET_S else "missed"
            notes.append(f"target of {1e3 * ESTIMATE_TARGET_S:.2f} ms for {name}: {verdict}")
    table = format_table(["builds×executions×measurements", "mean and variances by", "wall", "ratio"], rows)
    return f"{table}\n\nEstimates, relative: {'; '.join(notes)}."


def compare_bootstraps(file: Path, replicates: int) -> str:
    """Table of all bootstrap comparisons of two versions here, by numpy and by lme4."""
    first, second = make_nested(SIZES[0], seed=2), make_nested(SIZES[0], seed=3, mean=101.0)
    means = find_build_means(first), find_build_means(second)
    ours = measure(lambda: _native.resample_builds(*means, DRAWS, 1))
    whole = measure(
        lambda: _native.resample_builds(find_build_means(first), find_build_means(second), DRAWS, 1)
    )
    by_numpy = measure(lambda: resample_with_numpy(*means), times=21)
    rows = [
        ["datamill, from build means", spell(ours), "1.00"],
        ["datamill, from all measurements", spell(whole), f"{whole / ours:.3g}"],
        ["numpy, from build means", spell(by_numpy), f"{by_numpy / ours:.3g}"],
    ]
    np.concatenate([first.values, second.values]).tofile(file)
    answer = ask_r(BOOTMER_SCRIPT, file, SIZES[0], replicates)
    if answer:
        total = answer[0] * DRAWS
        note = f"lme4 bootMer, parametric, {spell(answer[0])} each (mean of {replicates})"
        rows.append([note, spell(total) + " (extrapolated)", f"{total / ours:.3g}"])
    else:
        rows.append(["lme4", "not installed", ""])
    name = "×".join(map(str, SIZES[0]))
    table = format_table([f"{DRAWS} bootstrap comparisons of two versions of {name}", "wall", "ratio"], rows)
    verdict = "met" if whole <= COMPARE_TARGET_S else "missed"
    return f"{table}\n\nTarget: {COMPARE_TARGET_S:.0f} s: {verdict}."


def find_build_means(data: Nested) -> NDArray[np.float64]:
    """Mean of each build."""
    return _native.nested_means(data.values, data.executions, data.builds)[2]


def estimate(data: Nested) -> tuple[float, float, float, float]:
    """Mean and variances of builds, executions and measurements, from the mean squares of balanced data."""
    _, m, n = data.box.shape
    mean, version, build, execution = _native.nested_mean_squares(data.values, data.executions, data.builds)
    return mean, version - build / m, build - execution / n, execution


def estimate_with_numpy(data: Nested) -> NDArray[np.float64]:
    """The same from the box."""
    _, m, n = data.box.shape
    means = data.box.mean(axis=2)
    build_means = means.mean(axis=1)
    version = build_means.var(ddof=1)
    build = means.var(axis=1, ddof=1).mean()
    execution = data.box.var(axis=2, ddof=1).mean()
    return np.array([build_means.mean(), version - build / m, build - execution / n, execution])


def resample_with_numpy(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Differences and ratios of the means of drawn builds."""
    rng = np.random.default_rng(1)
    of_a, of_b = (x[rng.integers(0, len(x), (DRAWS, len(x)))].mean(axis=1) for x in (a, b))
    return of_b - of_a, of_b / of_a


def ask_r(script: str, file: Path, size: tuple[int, int, int], times: int) -> list[float]:
    """Numbers that an R script prints about the values in the file; none without R and lme4."""
    if not shutil.which("Rscript"):
        return []
    numbers = [str(number) for number in (*size, times)]
    lines = run_peer(["Rscript", "--vanilla", "-e", script, str(file), *numbers])
    return [float(number) for number in lines[0].split()] if lines else []


def measure(work: Callable[[], object], times: int = 101) -> float:
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
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
