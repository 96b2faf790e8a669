"""Analysis of variance of 10^7 rows against one pass over the file, and of 10^6 against R and statsmodels."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import gather_cells
from datamill.analysis.model_data.question import ModelData, ModelQuestion, select_model_data
from datamill.results.tables.table_files import read_table_file

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

FACTORS = {
    "sched": ("bfs", "cfs"),
    "machine": ("core2", "p4"),
    "vmstat": ("off", "on"),
    "load": ("compile", "none"),
}
QUESTION = ModelQuestion("latency", tuple(FACTORS), order=2)
TARGET = 3.0
#: A peer that takes longer is not waited for.
PATIENCE_S = 600
R_SCRIPT = """
d <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
options(contrasts = c("contr.sum", "contr.poly"))
f <- latency ~ (sched + machine + vmstat + load)^2
for (fit in list(aov, lm)) {
  t <- replicate(3, { gc(); s <- system.time(m <- fit(f, d)); s <- s + system.time(anova(m)); s[1:3] })
  cat(median(t[1, ] + t[2, ]), median(t[3, ]), "\\n")
}
"""
STATSMODELS_SCRIPT = """
import sys, time, pandas, statistics
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm
d = pandas.read_csv(sys.argv[1])
f = "latency ~ (C(sched, Sum) + C(machine, Sum) + C(vmstat, Sum) + C(load, Sum))**2"
cpu, wall = [], []
for _ in range(3):
    c, w = time.process_time(), time.perf_counter()
    anova_lm(smf.ols(f, d).fit())
    cpu.append(time.process_time() - c); wall.append(time.perf_counter() - w)
print(statistics.median(cpu), statistics.median(wall))
"""


def main() -> None:
    """Make latencies of a 2^4 design, time everything, print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter that has statsmodels")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as folder:
        file = Path(folder, "latencies.parquet")
        table = make_table(arguments.rows)
        table.write_parquet(file)
        small = table.head(min(table.height, 10**6))
        small.write_csv(Path(folder, "small.csv"))
        del table
        print(describe_machine() + "\n")
        print(compare_with_one_pass(file) + "\n")
        print(compare_with_peers(small, Path(folder, "small.csv"), arguments.peer_python))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPeak memory of this process {memory:.0f} MiB.")


def make_table(rows: int) -> pl.DataFrame:
    """Log-normal latencies with Pareto tails, factors as text."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 16, rows)
    bits = [(codes >> at) & 1 for at in range(4)]
    values = 100 * np.exp(0.3 * rng.standard_normal(rows)) * (1 + 0.1 * bits[0] + 0.2 * bits[1])
    values += (rng.random(rows) < 0.02) * 200 * rng.pareto(2.5, rows)
    columns = {
        name: pl.Series(np.array(levels)[bit])
        for (name, levels), bit in zip(FACTORS.items(), bits, strict=True)
    }
    return pl.DataFrame(columns | {"latency": values})


def analyze(table: pl.DataFrame) -> None:
    """What `datamill analyze anova` computes, checks included."""
    data = select_model_data(table, QUESTION)
    model = fit(data)
    check_assumptions(data.observations.cells, model, when=data.observations.order)


def fit(data: ModelData) -> LinearModel:
    """The fit alone, of observations gathered by cell."""
    return fit_linear_model(data.observations.cells, terms=data.terms)


def gather_and_fit(data: ModelData) -> LinearModel:
    """From levels as numbers, which is what R's data frame holds, to the tests."""
    cells = data.observations.cells
    codes = [np.ascontiguousarray(column[cells.of_row]) for column in cells.codes.T.astype(np.uint32)]
    again = gather_cells(cells.factors, codes, cells.values)
    return fit_linear_model(again, terms=data.terms)


def compare_with_one_pass(file: Path) -> str:
    """Table of one pass over the file and of the whole analysis of it."""
    one_pass = measure(
        lambda: (
            pl.scan_parquet(file).group_by(list(FACTORS)).agg(pl.len(), pl.col("latency").sum()).collect(),
        )
    )
    whole = measure(lambda: analyze(read_table_file(file)))
    rows = [
        ["one pass: sum and count by group (polars)", *spell(one_pass), "1.00"],
        ["read, fit, test and check assumptions", *spell(whole), f"{whole[1] / one_pass[1]:.2f}"],
    ]
    table = format_table(["10^7 rows, Parquet, factors as text", "CPU", "wall", "wall, ratio"], rows)
    verdict = "met" if whole[1] < TARGET * one_pass[1] else "missed"
    return f"{table}\n\nTarget: within {TARGET:.0f} times one pass: {verdict}."


def compare_with_peers(small: pl.DataFrame, csv: Path, peer_python: str) -> str:
    """Table of the fit of 10^6 rows here and by peers."""
    data = select_model_data(small, QUESTION)
    ours = measure(lambda: fit(data))
    rows = [
        ["datamill, fit and tests, from cells", *spell(ours)],
        ["datamill, fit and tests, from coded columns", *spell(measure(lambda: gather_and_fit(data)))],
        ["datamill, from the table, with all checks", *spell(measure(lambda: analyze(small)))],
    ]
    if shutil.which("Rscript"):
        lines = run_peer(["Rscript", "--vanilla", "-e", R_SCRIPT, str(csv)])
        for name, line in zip(("R aov", "R lm + anova"), lines, strict=False):
            rows.append([name, *spell(tuple(float(number) for number in line.split()))])
    else:
        rows.append(["R", "not installed", ""])
    lines = run_peer([peer_python, "-c", STATSMODELS_SCRIPT, str(csv)])
    if lines:
        rows.append(["statsmodels ols + anova_lm", *spell(tuple(float(n) for n in lines[0].split()))])
    else:
        rows.append(["statsmodels", "not installed", ""])
    return format_table(["10^6 rows in memory, 11 coefficients", "CPU", "wall"], rows)


def run_peer(command: list[str]) -> list[str]:
    """Lines that a peer prints; none where it cannot run."""
    threads = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=threads
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


def measure(work: Callable[[], object], times: int = 5) -> tuple[float, float]:
    """Median CPU and wall seconds, after one go that does not count."""
    work()
    cpu, wall = [], []
    for _ in range(times):
        start, clock = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - clock)
    return statistics.median(cpu), statistics.median(wall)


def spell(seconds: tuple[float, ...]) -> list[str]:
    """CPU and wall, in milliseconds below a second."""
    return [f"{1000 * s:.3g} ms" if s < 1 else f"{s:.2f} s" for s in seconds[:2]]


if __name__ == "__main__":
    main()
