"""How well strategies predict applications on machines that did not measure them, whatever the suite.

Each argument is a table of scores (machine, benchmark, seconds or score), one pool of machines. Each
benchmark is held out as the application in turn, measured on machines drawn at random (--draws times) or
chosen from the other benchmarks' scores alone (--chosen), and predicted on all others. Printed are
quantiles of NRMSE (root mean square error over the mean time, both over the targets, in %), and for the
ensemble what its intervals cover, what it refuses, and the errors above the limit among the rest.

    benches/prediction/platform_predictions.py core.csv mixed.csv --draws 20
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from datamill.platforms.ensemble.inference import find_half_widths, infer_application
from datamill.platforms.methods.variance_reduction import choose_greedily
from datamill.platforms.prediction.missing_cells import fill_cells
from datamill.platforms.prediction.refusals import LIMIT, find_refusals
from datamill.platforms.scores.score_matrix import FloatArray, IntArray
from datamill.platforms.strategies.registry import STRATEGIES
from datamill.platforms.strategies.strategy import Task
from datamill.verbs.inputs.scores import read_scores

PEERS = (
    "geometric-mean",
    "best-single",
    "clusters",
    "mallows-cp",
    "adjusted-r2",
    "mixture",
    "transposed-ridge",
    "gaussian-process",
)


def list_tasks(logs: FloatArray, size: int, draws: int, *, chosen: bool) -> Iterator[tuple[IntArray, int]]:
    """Machines in their order, trained ones first, and the benchmark that is held out."""
    count, benchmarks = logs.shape
    random = np.random.default_rng(2026)
    for _ in range(1 if chosen else draws):
        order = random.permutation(count)
        for column in range(benchmarks):
            if chosen:
                picked, _ = choose_greedily(np.delete(logs, column, axis=1), size)
                order = np.concatenate([picked, np.setdiff1d(np.arange(count), picked)]).astype(np.int64)
            yield order, column


def measure_pool(path: Path, size: int, draws: int, *, chosen: bool, peers: tuple[str, ...]) -> list[str]:
    """Lines of Markdown about one pool."""
    matrix = read_scores(path)
    logs = fill_cells(np.log(matrix.seconds))
    errors: dict[str, list[float]] = {name: [] for name in (*peers, "ensemble")}
    covered: list[float] = []
    refused: list[FloatArray] = []
    relative: list[FloatArray] = []
    seconds = 0.0
    for order, column in list_tasks(logs, size, draws, chosen=chosen):
        rows = logs[order]
        suite, own = np.delete(rows, column, axis=1), rows[:, column]
        true = np.exp(own[size:])
        started = time.perf_counter()
        found = infer_application(suite, np.isfinite(suite), own[:size])
        seconds += time.perf_counter() - started
        half = find_half_widths(found, 0.9)
        covered.append(float((np.abs(found.logs - own[size:]) <= half).mean()))
        names = [str(index) for index in range(suite.shape[1])]
        refused.append(np.array([bool(item) for item in find_refusals(found, names)]))
        relative.append(np.abs(np.exp(found.logs) / true - 1))
        predicted = {"ensemble": np.exp(found.logs)}
        task = Task(
            np.exp(suite),
            np.arange(size),
            np.arange(size, len(rows)),
            np.exp(own[:size]),
            np.full(size, np.nan),
        )
        for name in peers:
            predicted[name] = STRATEGIES[name].forecast(task).seconds
        for name, values in predicted.items():
            errors[name].append(float(100 * np.sqrt(((values - true) ** 2).mean()) / true.mean()))
    lines = [
        f"**{path.stem}**: {logs.shape[0]} machines × {logs.shape[1]} benchmarks, {size} "
        f"{'chosen' if chosen else 'random'} machines, {len(covered)} cells",
        "",
        "| strategy | mean | median | p75 | p95 | max |",
        "|---|---|---|---|---|---|",
    ]
    for name, values in errors.items():
        known = np.asarray(values)
        cells = [known.mean(), *np.percentile(known, [50, 75, 95]), known.max()]
        lines.append(f"| {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
    out, error = np.concatenate(refused), np.concatenate(relative)
    kept = error[~out]
    lines += [
        "",
        f"Ensemble: 90% intervals cover {100 * np.mean(covered):.1f}%; {100 * out.mean():.1f}% refused; "
        f"errors above {100 * LIMIT:.0f}%: {100 * (error > LIMIT).mean():.2f}% of all, "
        f"{100 * (kept > LIMIT).mean() if len(kept) else 0:.3f}% ({int((kept > LIMIT).sum())}) of those not "
        f"refused, of which the largest is {100 * kept.max() if len(kept) else 0:.0f}%; "
        f"{1000 * seconds / len(covered):.0f} ms a prediction.",
        "",
    ]
    return lines


def main() -> None:
    """Measure each pool and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pools", nargs="*", type=Path, help="tables of scores")
    parser.add_argument("--size", type=int, default=7)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--chosen", action="store_true")
    parser.add_argument("--peers", default=",".join(PEERS))
    asked = parser.parse_args()
    if not asked.pools:
        print("platform_predictions: no table of scores was named, so nothing is measured; see --help")
        return
    for path in asked.pools:
        peers = tuple(name for name in asked.peers.split(",") if name)
        print("\n".join(measure_pool(path, asked.size, asked.draws, chosen=asked.chosen, peers=peers)))


if __name__ == "__main__":
    main()
