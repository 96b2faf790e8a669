"""Quantile regression of a 2^4 design, ten quantiles, beside R, statsmodels, scikit-learn and pyfixest.

Models: S16 saturated, U11 main effects and interactions of two, C17 saturated with a continuous covariate.
Each fit is alone in its process, the model matrix made before; the time is that of the fit, in user CPU over
all threads; memory is what the fit takes beyond data and matrix. Give `--peer-python` an interpreter with
statsmodels, scikit-learn or pyfixest; without, one is made for the occasion, if packages can be downloaded.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from quantile_fit_alone import QUANTILES, build_matrix, code_cells

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

MODELS = ("S16", "U11", "C17")
OURS = ("datamill", "datamill, sorted before")
R_METHODS = ("br", "fn", "pfn", "ppro")
PEERS = ("statsmodels", "scikit-learn", "pyfixest")
ALONE = Path(__file__).with_name("quantile_fit_alone.py")
R_SCRIPT = """
suppressPackageStartupMessages(library(quantreg))
a <- commandArgs(TRUE); n <- as.numeric(a[2]); p <- as.numeric(a[3])
x <- matrix(readBin(file.path(a[1], "matrix.bin"), "double", n * p), n, p)
y <- readBin(file.path(a[1], "values.bin"), "double", n)
fit <- switch(a[4], br = rq.fit.br, fn = rq.fit.fnb, pfn = rq.fit.pfn, ppro = rq.fit.ppro)
memory <- function(field) {
  line <- grep(field, readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) * 1024
}
invisible(gc()); before <- memory("VmRSS"); cat("5", file = "/proc/self/clear_refs")
began <- proc.time()
taus <- as.numeric(a[-(1:4)])
b <- suppressWarnings(if (a[4] == "ppro") fit(x, y, taus)$coefficients else
  sapply(taus, function(tau) fit(x, y, tau)$coefficients))
took <- proc.time() - began
rows <- apply(b, 2, function(v) paste0("[", paste(sprintf("%.17g", v), collapse = ","), "]"))
cat(sprintf('{"user_s":%g,"wall_s":%g,"repeats":1,"extra_bytes":%g,"coefficients":[%s]}',
  took[["user.self"]], took[["elapsed"]], max(0, memory("VmHWM") - before), paste(rows, collapse = ",")))
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a fit took and reached, or why there is none."""

    program: str
    failure: str = ""
    user_s: float = 0.0
    wall_s: float = 0.0
    extra_bytes: int = 0
    losses: tuple[float, ...] = ()


def main() -> None:
    """Fit the models at all sizes with all programs, and print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, help="models to fit")
    parser.add_argument("--cap", type=float, default=45, help="seconds that a peer's fit may take")
    parser.add_argument("--budget", type=float, default=800, help="seconds after which no peer is started")
    parser.add_argument("--without", nargs="+", default=[], help="peers not to start")
    parser.add_argument("--peer-python", help="interpreter that has peers")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.budget
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as made:
        folder = Path(made)
        peer_python = arguments.peer_python or make_peers(folder / "peers")
        outcomes: dict[tuple[str, int], list[Outcome]] = {}
        too_slow = {(peer, model): "left out" for peer in arguments.without for model in MODELS}
        for rows in arguments.rows:
            write_data(folder, rows)
            for model in arguments.models:
                outcomes[model, rows] = measure(
                    folder, model, rows, peer_python, arguments.cap, end, too_slow
                )
    print(f"{describe_machine()}\n")
    print(f"Ten quantiles; a peer has {arguments.cap:.0f} s. Load at the end: {os.getloadavg()[0]:.1f}.\n")
    for model in arguments.models:
        print(f"{model}:\n")
        for rows in arguments.rows:
            print(format_outcomes(model, rows, outcomes[model, rows]) + "\n")


def write_data(folder: Path, rows: int) -> None:
    """Latencies with a log-normal body and a Pareto tail in 16 balanced cells, in random order."""
    rng = np.random.default_rng(20130316)
    cells = rng.permutation(np.arange(rows, dtype=np.uint32) % 16)
    levels = code_cells(1)[:, 1:]
    center = np.log(100) + levels @ np.array([0.10, -0.05, 0.02, 0.08]) + 0.03 * levels[:, 0] * levels[:, 1]
    spread = 0.2 + 0.05 * (levels[:, 0] > 0)
    covariate = rng.normal(size=rows)
    values = np.exp(center[cells] + spread[cells] * rng.normal(size=rows)) + 2.0 * covariate
    tail = rng.random(rows) < 0.03
    values[tail] *= 1 + rng.pareto(1.5, int(tail.sum()))
    np.save(folder / "cells.npy", cells)
    np.save(folder / "values.npy", values)
    np.save(folder / "covariate.npy", covariate)
    values.tofile(folder / "values.bin")


def measure(
    folder: Path,
    model: str,
    rows: int,
    peer_python: str | None,
    cap: float,
    end: float,
    too_slow: dict[tuple[str, str], str],
) -> list[Outcome]:
    cells, values = np.load(folder / "cells.npy"), np.load(folder / "values.npy")
    matrix = build_matrix(model, cells, np.load(folder / "covariate.npy"))
    outcomes = []
    for program in OURS:
        if program == "datamill" or model != "C17":
            command = [sys.executable, str(ALONE), str(folder), model, program]
            outcomes.append(run_fit(program, command, 600, matrix, values))
    np.asfortranarray(matrix).T.tofile(folder / "matrix.bin")
    for program in (*(f"R {method}" for method in R_METHODS), *PEERS):
        if program.startswith("R "):
            python = shutil.which("Rscript")
            numbers = [str(number) for number in (rows, matrix.shape[1])]
            taus = [str(tau) for tau in QUANTILES]
            command = [python or "", "--vanilla", "-e", R_SCRIPT, str(folder), *numbers, program[2:], *taus]
        else:
            python = peer_python
            command = [python or "", str(ALONE), str(folder), model, program]
        if not python:
            outcomes.append(Outcome(program, "not installed here"))
        elif (program, model) in too_slow:
            outcomes.append(Outcome(program, too_slow[program, model]))
        elif time.monotonic() > end:
            outcomes.append(Outcome(program, "not started: the time for peers is used up"))
        else:
            print(f"{model}, {rows} rows: {program}", file=sys.stderr)
            outcome = run_fit(program, command, cap, matrix, values)
            outcomes.append(outcome)
            # No exact method is less than linear in the rows.
            if outcome.failure:
                too_slow[program, model] = f"not started: with fewer rows {outcome.failure}"
            elif outcome.wall_s * 8 > cap:
                too_slow[program, model] = f"not started: 8 times as long as before is over {cap:.0f} s"
    return outcomes


def run_fit(program: str, command: list[str], cap: float, matrix: Any, values: Any) -> Outcome:
    """Run one program; starting up and reading its data is not counted against the cap."""
    start_s = 15 + values.size / 500_000
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=cap + start_s, env=environment
        )
    except subprocess.TimeoutExpired:
        return Outcome(program, f"more than {cap:.0f} s")
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return Outcome(program, f"failed: {lines[-1][:80]}")
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    losses = []
    for tau, row in zip(QUANTILES, answer["coefficients"], strict=True):
        residuals = values - matrix @ np.array(row)
        losses.append(float(np.sum(residuals * (tau - (residuals < 0)))))
    if answer["wall_s"] > cap:
        return Outcome(program, f"more than {cap:.0f} s")
    return Outcome(program, "", answer["user_s"], answer["wall_s"], int(answer["extra_bytes"]), tuple(losses))


def format_outcomes(model: str, rows: int, outcomes: list[Outcome]) -> str:
    """A table of one model at one size."""
    done = [outcome for outcome in outcomes if not outcome.failure]
    best = [min(losses) for losses in zip(*(outcome.losses for outcome in done), strict=True)]
    ours = done[0].user_s if done else float("nan")
    # Values, cells, and the covariate where there is one.
    data_bytes = 20 if model == "C17" else 12
    lines = []
    for outcome in outcomes:
        if outcome.failure:
            lines.append([outcome.program, outcome.failure, "", "", "", ""])
            continue
        excess = max((loss - least) / least for loss, least in zip(outcome.losses, best, strict=True))
        lines.append(
            [
                outcome.program,
                format_seconds(outcome.user_s),
                format_seconds(outcome.wall_s),
                f"{outcome.user_s / ours:,.2g}"
                if outcome.user_s < 10 * ours
                else f"{outcome.user_s / ours:,.0f}",
                f"{outcome.extra_bytes / (data_bytes * rows):.2f}",
                f"{excess:.0e}" if excess > 0 else "0",
            ]
        )
    header = [
        f"n = {rows:,}",
        "user CPU",
        "wall",
        "times ours",
        "extra memory / data",
        "largest excess of the objective",
    ]
    return format_table(header, lines)


def format_seconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def make_peers(folder: Path) -> str | None:
    """A throw-away interpreter with the peers, or none."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "statsmodels", "scikit-learn", "pyfixest"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        print(f"No Python peers: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}", file=sys.stderr)
        return None
    return python


if __name__ == "__main__":
    main()
