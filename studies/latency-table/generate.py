"""Write a table of scheduling latencies, shaped like those of the ASPLOS paper, whose true effects are known.

Sixteen design points (scheduler, machine, vmstat, load), five executions each, thousands of latencies in each
execution, with a heavy tail. The conditional quantiles are linear in the factors at every quantile u: each
effect is its value at the 99th percentile (the paper's Table 4) times a shape that says from which quantile
on it acts. So the scheduler does nothing below the 40th percentile and most in the tail, as the paper found,
and each coefficient that `datamill analyze quantiles` estimates has a known true value: `--truth` prints it.
"""

from __future__ import annotations

import argparse
import signal
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

FACTORS = {
    "sched": ("BFS", "CFS"),
    "machine": ("Core 2", "P4"),
    "vmstat": ("off", "on"),
    "load": ("compile", "encode"),
}
#: Effects on the 99th percentile, in microseconds (Table 4; the mean's is not printed there), and the
#: quantile from which each begins.
EFFECTS_US: dict[tuple[str, ...], tuple[float, float]] = {
    (): (18_000.0, 0.0),
    ("machine",): (5594.5, 0.1),
    ("sched",): (2244.1, 0.4),
    ("vmstat",): (-553.0, 0.9),
    ("load",): (52.9, 0.0),
    ("sched", "machine"): (-4692.6, 0.4),
    ("sched", "vmstat"): (-545.9, 0.9),
    ("machine", "vmstat"): (463.5, 0.9),
    ("sched", "machine", "vmstat"): (610.4, 0.9),
}
#: Latency that no quantile is below, in microseconds.
FLOOR_US = 5.0
EXECUTIONS = 5
#: Exponent of the tail: mean and variance exist, and no more.
TAIL = 0.35


def shape_effect(u: NDArray[np.float64], start: float) -> NDArray[np.float64]:
    """Share of an effect at quantile u: none up to `start`, all of it at 0.99, ever more beyond (Pareto)."""
    before = (1.0 - start) ** -TAIL
    return ((1.0 - np.maximum(u, start)) ** -TAIL - before) / (0.01**-TAIL - before)


def find_quantile(u: NDArray[np.float64], signs: dict[str, int]) -> NDArray[np.float64]:
    """Latency at quantile u of a design point, in microseconds."""
    latency = np.full(u.shape, FLOOR_US)
    for term, (size, start) in EFFECTS_US.items():
        sign = int(np.prod([signs[name] for name in term])) if term else 1
        latency += sign * size * shape_effect(u, start)
    return latency


def list_terms() -> list[tuple[str, ...]]:
    """The mean, the factors and all their interactions."""
    sizes = range(len(FACTORS) + 1)
    return [term for size in sizes for term in combinations(FACTORS, size)]


def find_true_effect(term: tuple[str, ...], quantile: float) -> float:
    """The coefficient of a term at a quantile, in microseconds."""
    size, start = EFFECTS_US.get(term, (0.0, 0.0))
    return size * float(shape_effect(np.array(quantile), start)) + (FLOOR_US if term == () else 0.0)


def generate_table(rows: int, seed: int) -> pl.DataFrame:
    """Return a table of about `rows` latencies, in random order of executions."""
    random = np.random.default_rng(seed)
    points = list(product(*FACTORS.values()))
    each = max(1, rows // (len(points) * EXECUTIONS))
    order = random.permutation(len(points) * EXECUTIONS)
    frames = []
    for place, number in enumerate(order):
        point = points[int(number) % len(points)]
        signs = {
            name: 1 if level == levels[1] else -1
            for level, (name, levels) in zip(point, FACTORS.items(), strict=True)
        }
        latency = find_quantile(random.random(each), signs)
        columns = dict(zip(FACTORS, point, strict=True))
        frames.append(
            pl.DataFrame({"latency_us": latency}).with_columns(
                execution=pl.lit(place), **{name: pl.lit(level) for name, level in columns.items()}
            )
        )
    return pl.concat(frames).select("execution", *FACTORS, "latency_us")


def main() -> None:
    """Write the table, or print the true effects."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="about how many latencies [1000000]")
    parser.add_argument("--seed", type=int, default=2013)
    parser.add_argument("--out", type=Path, default=Path("latency.parquet"), help=".parquet or .csv")
    parser.add_argument("--truth", action="store_true", help="print the true effects instead")
    asked = parser.parse_args()
    # Those who read through `head` want no more than that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if asked.truth:
        quantiles = [*(step / 10 for step in range(1, 10)), 0.99]
        print(f"{'':24}" + "".join(f"{quantile:>10}" for quantile in quantiles))
        for term in list_terms():
            effects = (find_true_effect(term, quantile) for quantile in quantiles)
            print(f"{':'.join(term) or '(mean)':24}" + "".join(f"{effect:>10.1f}" for effect in effects))
        return
    table = generate_table(asked.rows, asked.seed)
    if asked.out.suffix == ".csv":
        table.write_csv(asked.out)
    else:
        table.write_parquet(asked.out)
    print(f"{table.height} latencies in {asked.out}")


if __name__ == "__main__":
    main()
